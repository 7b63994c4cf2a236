// SPDX-License-Identifier: Apache-2.0
// GEMM by roofline with whole waves.
//
//   tiles = ceil(m / bm) ceil(n / bn) batch s        s: splits of k, in parts of at least 512
//   math  = ceil(tiles / units) * 2 bm bn part / (rate * clock * achieved share * tile share)
//           + s > 1: reduction of s partials
//   time  = launch + max(math, compulsory bytes / achieved HBM rate)
//
// The tile and the split are the cheapest of a short list, which the architecture's file has with
// the share of the matrix rate that each tile keeps: smaller ones load more bytes a FLOP. The tile
// backend replaces the shares with the traffic itself. Assumes that L2 serves what a wave
// shares, that every operand comes from HBM once and that the library picks the best of the list.
// Wrong for tiny products (below about 10 us), for k below 256 and where padding of k matters.
#include <algorithm>
#include <array>
#include <cmath>

#include "backends/builtin_backends.hpp"
#include "stepcast/base/real.hpp"
#include "stepcast/cost/cost_model.hpp"

namespace stepcast {
namespace {

constexpr std::array<std::int64_t, 4> kSplitsOfK = {1, 2, 4, 8};
constexpr std::int64_t kLeastPart = 512;  // of k

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

struct Shape {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  std::int64_t batch;
};

// FLOP/s of one unit at the context's clock, with the share of it that GEMMs achieve.
FlopsPerSecond unit_rate(Dtype dtype, const KernelContext& context) {
  const DeviceSpec& device = context.device;
  return device.achieved_gemm(dtype) * device.matrix_rate_of(dtype) * context.clock;
}

// Time of the matrix products alone, for the best tile and split.
Seconds math_time(const Shape& shape, Dtype dtype, const KernelContext& context) {
  const FlopsPerSecond rate = unit_rate(dtype, context);
  Seconds best(INFINITY);
  for (const RooflineTile& tile : context.device.architecture.gemm.roofline_tiles) {
    const std::int64_t tiles =
        ceil_div(shape.m, tile.rows) * ceil_div(shape.n, tile.cols) * shape.batch;
    for (const std::int64_t split : kSplitsOfK) {
      const std::int64_t part = std::max(ceil_div(shape.k, split), std::min(shape.k, kLeastPart));
      const std::int64_t parts = ceil_div(shape.k, part);
      if (split > 1 && (parts == 1 || tiles >= context.compute_units)) {
        break;
      }
      const auto waves = static_cast<double>(ceil_div(tiles * parts, context.compute_units));
      const auto products = static_cast<double>(tile.rows * tile.cols * part);
      Seconds time = waves * Flops(2.0 * products) / (tile.share * rate);
      if (parts > 1) {
        constexpr Bytes kPartialSum{4};
        const auto outputs = static_cast<double>(shape.m * shape.n * shape.batch);
        time +=
            static_cast<double>(2 * parts) * outputs * kPartialSum / context.device.hbm.achieved;
      }
      best = min(best, time);
    }
  }
  return best;
}

OpCost roofline(Seconds math, Bytes bytes, const KernelContext& context) {
  const Seconds memory = bytes / context.device.hbm.achieved;
  OpCost cost;
  cost.duration = context.launch + max(math, memory);
  cost.bound = max(math, memory) < context.launch ? Bound::kLatency
               : math < memory                    ? Bound::kMemory
                                                  : Bound::kCompute;
  if (context.detail == Detail::kTerms) {
    const bool by_memory = math < memory;
    cost.terms = {{by_memory ? "memory" : "math", max(math, memory)}, {"launch", context.launch}};
  }
  return cost;
}

// The matrix pipes are busy for the FLOPs at their peak rate; padding draws nothing here.
template <typename Product>
Joules energy_of(const Product& op, const KernelContext& context) {
  const FlopsPerCycle rate = context.device.matrix_rate_of(op.dtype);
  return kernel_energy({flops(op) / rate, op.dtype, compulsory_bytes(op), op.accumulation},
                       context);
}

class RooflineGemm final : public GemmModel {
 public:
  [[nodiscard]] OpCost gemm(const Gemm& op, const KernelContext& context) const override {
    OpCost cost = roofline(math_time({op.m, op.n, op.k, op.batch}, op.dtype, context),
                           compulsory_bytes(op), context);
    cost.hbm = compulsory_bytes(op);
    cost.energy = energy_of(op, context);
    return cost;
  }

  [[nodiscard]] OpCost grouped_gemm(const GroupedGemm& op,
                                    const KernelContext& context) const override {
    OpCost cost = timed_groups(op, context);
    cost.hbm = compulsory_bytes(op);
    cost.energy = energy_of(op, context);
    return cost;
  }

 private:
  [[nodiscard]] static OpCost timed_groups(const GroupedGemm& op, const KernelContext& context) {
    const std::int64_t rows = ceil_div(op.m_total, op.groups);
    const bool wgrad = op.pass == GemmPass::kWgrad;
    const Shape one = wgrad ? Shape{op.n, op.k, rows, 1} : Shape{rows, op.n, op.k, 1};
    if (op.sequential) {
      const auto groups = real(op.groups);
      OpCost cost =
          roofline(math_time(one, op.dtype, context), compulsory_bytes(op) / groups, context);
      cost.duration = groups * cost.duration;
      for (CostTerm& term : cost.terms) {
        term.duration = groups * term.duration;
      }
      return cost;
    }
    const Shape all{one.m, one.n, one.k, op.groups};
    return roofline(math_time(all, op.dtype, context), compulsory_bytes(op), context);
  }
};

}  // namespace

std::shared_ptr<const GemmModel> make_roofline_gemm() { return std::make_shared<RooflineGemm>(); }

}  // namespace stepcast
