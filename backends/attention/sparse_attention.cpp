// SPDX-License-Identifier: Apache-2.0
#include "backends/attention/sparse_attention.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/attention/kernel_sequence.hpp"
#include "stepcast/base/real.hpp"

namespace stepcast {
namespace {

constexpr double kHeadsOfGroup = 64.0;
constexpr Bytes kSixteenBit{2.0};
constexpr Bytes kFp32{4.0};
constexpr Bytes kIndex{4.0};

bool forward(Direction direction) { return direction == Direction::kForward; }

// What the units of a part do.
class Units {
 public:
  explicit Units(const KernelContext& context) : context_(context) {}

  // Matrix cycles of all units at the peak rate.
  [[nodiscard]] double cycles(double flops, Dtype dtype) const {
    const auto& rates = context_.device.matrix_rate;
    const FlopsPerCycle bf16 = *rates[slot(Dtype::kBf16)];
    return flops / rates[slot(dtype)].value_or(bf16).value();
  }
  [[nodiscard]] Seconds products(double cycles, double efficiency) const {
    return cycles / (efficiency * static_cast<double>(context_.compute_units)) / context_.clock;
  }
  [[nodiscard]] Seconds gathered(Bytes bytes) const {
    const DeviceSpec& device = context_.device;
    const BytesPerSecond cache = device.l2.bandwidth.value_or(device.hbm.achieved);
    return bytes / (constants().gather * share() * cache);
  }
  [[nodiscard]] Seconds added(Bytes bytes) const {
    return bytes / (share() * constants().reduction_rate);
  }
  [[nodiscard]] const SparseAttentionConstants& constants() const {
    return context_.device.kernels.sparse_attention;
  }

 private:
  // Of the part's units, that are left.
  [[nodiscard]] double share() const {
    return static_cast<double>(context_.compute_units) /
           static_cast<double>(context_.device.compute_units);
  }
  const KernelContext& context_;
};

// A kernel whose units wait for the longest of what they do.
SequencedKernel walk(std::string_view name, Seconds products, Seconds traffic, double cycles,
                     Bytes hbm) {
  return {.name = name,
          .units = max(products, traffic),
          .unit_bound = products < traffic ? Bound::kCache : Bound::kCompute,
          .hbm = hbm,
          .matrix_cycles = cycles};
}

OpCost priced(const std::vector<SequencedKernel>& kernels, Dtype dtype,
              const KernelContext& context) {
  return sequence_cost({kernels, dtype, 1.0}, context);
}

}  // namespace

OpCost sparse_attention_cost(const SparseAttention& op, const KernelContext& context) {
  const Units units(context);
  const SparseAttentionConstants& constants = units.constants();
  const bool ahead = forward(op.direction);
  const double queries = real(op.batch) * real(op.seq_q);
  const double listed = real(listed_keys(op));
  const double d_qk = real(op.d_qk);
  const double d_v = real(op.d_v);
  const double width = ahead ? d_qk + d_v : 3.0 * d_qk + 2.0 * d_v;
  const double cycles = units.cycles(2.0 * queries * real(op.heads) * listed * width, op.dtype);
  const double groups =
      real(op.kv_heads) * std::ceil(real(op.heads) / real(op.kv_heads) / kHeadsOfGroup);
  const double rows = queries * groups * listed;
  const Seconds gathered = units.gathered(rows * d_qk * kSixteenBit);
  if (ahead) {
    return priced({walk("attention", units.products(cycles, constants.forward_efficiency), gathered,
                        cycles, compulsory_bytes(op))},
                  op.dtype, context);
  }
  const double outputs = queries * real(op.heads) * d_v;
  const double own = op.window > 0 ? real(op.seq_kv) : 0.0;
  const double keys = real(op.batch) * (real(keys_to_choose(op)) + own) * real(op.kv_heads) * d_qk;
  const Seconds traffic = gathered + units.added(rows * d_qk * kFp32);
  return priced({{.name = "output_products", .hbm = 2.0 * outputs * kSixteenBit},
                 {.name = "zeros", .hbm = keys * kFp32},
                 walk("attention", units.products(cycles, constants.backward_efficiency), traffic,
                      cycles, compulsory_bytes(op)),
                 {.name = "conversion", .hbm = keys * (kFp32 + kSixteenBit)}},
                op.dtype, context);
}

OpCost index_scores_cost(const IndexScores& op, const KernelContext& context) {
  const Units units(context);
  const SparseAttentionConstants& constants = units.constants();
  const double queries = real(op.batch) * real(op.seq_q);
  const double width = real(op.heads) * real(op.d);
  if (forward(op.direction)) {
    const double scores = real(op.batch) * scored_pairs(op);
    const double cycles = units.cycles(2.0 * scores * width, op.dtype);
    const Bytes written = scores * kFp32;
    return priced({walk("scores", units.products(cycles, constants.index_efficiency), {}, cycles,
                        compulsory_bytes(op) + written),
                   {.name = "choice",
                    .hbm = constants.choice_passes * queries * real(keys_to_choose(op)) * kFp32}},
                  op.dtype, context);
  }
  const double listed = queries * real(listed_keys(op));
  const double cycles = units.cycles(6.0 * listed * width, Dtype::kBf16);
  const Bytes keys = listed * real(op.d) * kSixteenBit;
  std::vector<SequencedKernel> kernels;
  if (op.teacher_heads > 0) {
    const double teacher_d = real(op.teacher_d);
    const double taught =
        units.cycles(2.0 * listed * real(op.teacher_heads) * teacher_d, Dtype::kBf16);
    const double groups = std::ceil(real(op.teacher_heads) / kHeadsOfGroup);
    kernels.push_back(walk("teacher", units.products(taught, constants.forward_efficiency),
                           units.gathered(groups * listed * teacher_d * kSixteenBit), taught,
                           listed * (kIndex + kFp32)));
  }
  kernels.push_back(walk("gradients", units.products(cycles, constants.backward_efficiency),
                         units.gathered(keys) + units.added(2.0 * keys), cycles,
                         compulsory_bytes(op) + listed * kFp32));
  return priced(kernels, Dtype::kBf16, context);
}

}  // namespace stepcast
