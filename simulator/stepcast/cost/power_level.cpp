// SPDX-License-Identifier: Apache-2.0
#include "stepcast/cost/power_level.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "stepcast/cost/power_state.hpp"

namespace stepcast {
namespace {

constexpr double kSlower = 0.75;        // of the peak clock, the other end of the power law
constexpr double kLowest = 0.25;        // of the peak clock
constexpr double kLeastExponent = 0.5;  // of the power law

Watts drawn_by(const OpCost& cost) {
  return cost.duration > Seconds{} ? cost.energy / cost.duration : Watts{};
}

template <typename Price>
KernelContext paced(const KernelContext& context, const Price& price) {
  const Hertz peak = context.device.clock.peak;
  const Watts level = power_level(context.device, context.compute_units, context.clock);
  if (!(level > Watts{})) {
    return context;
  }
  const auto drawn_at = [&](Hertz clock) {
    KernelContext at = context;
    at.clock = clock;
    at.detail = Detail::kDuration;
    return drawn_by(price(at));
  };
  KernelContext own = context;
  own.clock = peak;
  const Watts fast = drawn_at(peak);
  if (fast > level) {
    const double rise = std::log(fast / drawn_at(kSlower * peak)) / std::log(1.0 / kSlower);
    const double share = std::pow(level / fast, 1.0 / std::max(kLeastExponent, rise));
    own.clock = std::max(kLowest, share) * peak;
  }
  return own;
}

template <typename Price>
OpCost price_paced(const KernelContext& context, const Price& price) {
  return price(paced(context, price));
}

class PacedGemm final : public GemmModel {
 public:
  explicit PacedGemm(std::shared_ptr<const GemmModel> model) : model_(std::move(model)) {}
  [[nodiscard]] OpCost gemm(const Gemm& op, const KernelContext& context) const override {
    return price_paced(context, [&](const KernelContext& at) { return model_->gemm(op, at); });
  }
  [[nodiscard]] OpCost grouped_gemm(const GroupedGemm& op,
                                    const KernelContext& context) const override {
    return price_paced(context,
                       [&](const KernelContext& at) { return model_->grouped_gemm(op, at); });
  }

 private:
  std::shared_ptr<const GemmModel> model_;
};

class PacedAttention final : public AttentionModel {
 public:
  explicit PacedAttention(std::shared_ptr<const AttentionModel> model) : model_(std::move(model)) {}
  [[nodiscard]] OpCost attention(const Attention& op, const KernelContext& context) const override {
    return price_paced(context, [&](const KernelContext& at) { return model_->attention(op, at); });
  }
  [[nodiscard]] OpCost linear_attention(const LinearAttention& op,
                                        const KernelContext& context) const override {
    return price_paced(context,
                       [&](const KernelContext& at) { return model_->linear_attention(op, at); });
  }
  [[nodiscard]] OpCost sparse_attention(const SparseAttention& op,
                                        const KernelContext& context) const override {
    return price_paced(context,
                       [&](const KernelContext& at) { return model_->sparse_attention(op, at); });
  }
  [[nodiscard]] OpCost index_scores(const IndexScores& op,
                                    const KernelContext& context) const override {
    return price_paced(context,
                       [&](const KernelContext& at) { return model_->index_scores(op, at); });
  }

 private:
  std::shared_ptr<const AttentionModel> model_;
};

class PacedMemoryBound final : public MemoryBoundModel {
 public:
  explicit PacedMemoryBound(std::shared_ptr<const MemoryBoundModel> model)
      : model_(std::move(model)) {}
  [[nodiscard]] OpCost memory_bound(const MemoryBound& op,
                                    const KernelContext& context) const override {
    return price_paced(context,
                       [&](const KernelContext& at) { return model_->memory_bound(op, at); });
  }

 private:
  std::shared_ptr<const MemoryBoundModel> model_;
};

}  // namespace

Watts power_level(const DeviceSpec& device, std::int64_t units, Hertz clock) {
  constexpr std::size_t kBf16 = slot(Dtype::kBf16);
  const PowerConstants& power = device.kernels.power;
  const double busy = device.kernels.gemm.matrix_efficiency[kBf16].value_or(1.0);
  const Joules cycle = power.matrix_energy[kBf16].value_or(Joules{});
  const bool known = cycle > Joules{} && power.reference_clock > Hertz{};
  if (!known || power.clock_per == ClockScope::kStep) {
    return {};
  }
  const double growth = std::pow(clock / power.reference_clock, power.voltage_exponent);
  const double share = static_cast<double>(units) / static_cast<double>(device.compute_units);
  return min(share * burst_allowance(device),
             static_cast<double>(units) * busy * growth * (cycle * clock));
}

KernelContext within_level(const Op& op, const CostModel& model, const KernelContext& context,
                           const ClusterSpec& cluster) {
  return paced(context, [&](const KernelContext& at) { return model.cost(op, at, cluster); });
}

CostModel within_level(const CostModel& model) {
  if (model.paced) {
    return *model.paced;
  }
  return {std::make_shared<PacedGemm>(model.gemm),
          std::make_shared<PacedAttention>(model.attention),
          std::make_shared<PacedMemoryBound>(model.memory_bound), model.collective};
}

}  // namespace stepcast
