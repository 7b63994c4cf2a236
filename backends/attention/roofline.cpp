// SPDX-License-Identifier: Apache-2.0
// Attention by roofline with whole waves.
//
//   fused:   time = launch + max(flops / (rate * clock * share) * wave quantisation,
//                                bytes / HBM rate)
//            with one workgroup for 128 queries of a head and only the FLOPs that the mask leaves
//   unfused: see unfused.hpp
//   linear and sparse attention, index scores: launch + max(FLOPs / (rate * achieved GEMM share),
//            compulsory bytes / HBM rate), as one kernel
//
// The share is that of the device's profile (head dimension 128, causal, 4k to 8k tokens) times
// what the architecture's file says of the kernel. Smaller heads spend more of their time on
// exponentials: share * min(1, (64 + d) / 192). Wrong for sequences below about 1k, where start-up
// dominates, and for decoding.
#include <algorithm>

#include "backends/attention/flash_kernel.hpp"
#include "backends/attention/unfused.hpp"
#include "backends/builtin_backends.hpp"
#include "stepcast/base/real.hpp"
#include "stepcast/cost/cost_model.hpp"

namespace stepcast {
namespace {

constexpr std::int64_t kQueriesPerGroup = 128;

double head_share(const Attention& op) {
  const double d = 0.5 * static_cast<double>(op.d_qk + op.d_v);
  return std::min(1.0, (64.0 + d) / 192.0);
}

double wave_quantisation(const Attention& op, const KernelContext& context) {
  const std::int64_t groups =
      op.batch * op.heads * ((op.seq_q + kQueriesPerGroup - 1) / kQueriesPerGroup);
  const std::int64_t waves = (groups + context.compute_units - 1) / context.compute_units;
  return static_cast<double>(waves * context.compute_units) / static_cast<double>(groups);
}

FlopsPerSecond matrix_rate(const KernelContext& context) {
  const DeviceSpec& device = context.device;
  return real(context.compute_units) * device.matrix_rate_of(device.base_format()) * context.clock;
}

template <typename Mixer>
OpCost priced(const Mixer& op, Seconds math, const KernelContext& context) {
  const DeviceSpec& device = context.device;
  const Bytes bytes = compulsory_bytes(op);
  const Seconds memory = bytes / device.hbm.achieved;
  OpCost cost;
  cost.duration = context.launch + max(math, memory);
  cost.bound = math < memory ? Bound::kMemory : Bound::kCompute;
  const FlopsPerCycle rate = device.matrix_rate_of(device.base_format());
  cost.hbm = bytes;
  cost.energy = kernel_energy({flops(op) / rate, op.dtype, bytes}, context);
  if (context.detail == Detail::kTerms) {
    cost.terms = {math < memory ? CostTerm{"memory", memory} : CostTerm{"math", math},
                  {"launch", context.launch}};
  }
  return cost;
}

OpCost fused(const Attention& op, const KernelContext& context) {
  const AchievedSpec& achieved = context.device.achieved;
  const bool forward = op.direction == Direction::kForward;
  const double share = (forward ? achieved.attention_forward : achieved.attention_backward) *
                       flash_kernel(op, context.device).roofline_share * head_share(op);
  // A last wave that is not full costs less than a whole one: groups differ in length when causal.
  const double quantisation = 0.5 * (1.0 + wave_quantisation(op, context));
  const Seconds math = quantisation * flops(op) / (share * matrix_rate(context));
  return priced(op, math, context);
}

// What has no share of its own in a profile runs at that of matrix products.
template <typename Mixer>
OpCost as_products(const Mixer& op, const KernelContext& context) {
  const double share = context.device.achieved_gemm(context.device.base_format());
  return priced(op, flops(op) / (share * matrix_rate(context)), context);
}

class RooflineAttention final : public AttentionModel {
 public:
  [[nodiscard]] OpCost attention(const Attention& op, const KernelContext& context) const override {
    return is_fused(op, context.device) ? fused(op, context) : unfused_attention(op, context);
  }
  [[nodiscard]] OpCost linear_attention(const LinearAttention& op,
                                        const KernelContext& context) const override {
    return as_products(op, context);
  }
  [[nodiscard]] OpCost sparse_attention(const SparseAttention& op,
                                        const KernelContext& context) const override {
    return as_products(op, context);
  }
  [[nodiscard]] OpCost index_scores(const IndexScores& op,
                                    const KernelContext& context) const override {
    return as_products(op, context);
  }
};

}  // namespace

std::shared_ptr<const AttentionModel> make_roofline_attention() {
  return std::make_shared<RooflineAttention>();
}

}  // namespace stepcast
