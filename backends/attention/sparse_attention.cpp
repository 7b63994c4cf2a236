// SPDX-License-Identifier: Apache-2.0
// Attention over chosen keys, and the indexer that chooses them, as kernels of one query each.
//
// Sparse attention: a workgroup holds one query of some heads and walks over its list of keys, the
// whole list also where fewer keys lie before the query.
//   forward   products / (matrix rate * forward_efficiency) + own queries and results / HBM rate:
//             one workgroup on a unit, so that its transfers hide behind nothing
//   backward  dO . O, zeros, products / (matrix rate * backward_efficiency) + gradients of keys
//             added in fp32 at reduction_rate, for each 32 heads, + conversion
//
// Index scores: products / (matrix rate * index_efficiency), then the choice: a query's
// choice_cycles and choice_passes over the scores in fp32. Backward, one query a workgroup over its
// chosen keys: the larger of three products and of gradients of keys added in fp32; the
// probabilities that it learns are a kernel of their own, at teacher_efficiency.
//
// Sources: FlashMLA's sparse prefill (github deepseek-ai/FlashMLA) forward; backward, scores and
// teacher as TileLang's examples/deepseek_v32 and dsa_sparse_finetune have them, which Megatron-LM
// runs (megatron/core/transformer/experimental_attention_variant/ops); the choice is torch.topk.
//
// Measured on one H100 (tests/validation/sparse_attention_kernels.jsonl), backward, scores and
// teacher with kernels of our own after TileLang's, whose backward is published at 100 to 115
// TFLOP/s on H800 and H200: ours reach 99 to 109. On AMD, backward keeps gradients apart and adds
// them up in a kernel of its own; its time is fitted as if it were added. Wrong for very long
// sequences of index scores, of which a kernel that reads queries again takes up to twice as long.
#include <cmath>
#include <vector>

#include "backends/attention/kernel_sequence.hpp"
#include "stepcast/base/error.hpp"
#include "stepcast/base/real.hpp"

namespace stepcast {
namespace {

constexpr double kHeadsOfGroup = 32.0;  // whose gradients of keys are summed before they are added
constexpr Bytes kSixteenBit{2.0};
constexpr Bytes kFp32{4.0};
constexpr Bytes kIndex{4.0};

// Readers refuse kernels whose constants a GPU lacks.
const SparseAttentionConstants& constants_of(SparseKernel kernel, const KernelConstants& kernels) {
  if (kernel == SparseKernel::kLibrary) {
    return kernels.sparse_attention;
  }
  STEPCAST_CHECK(kernels.sparse_attention_triton.has_value(),
                 "sparse attention of Triton's kernels on a GPU without their constants");
  return *kernels.sparse_attention_triton;
}

// What the units of a part do.
class Units {
 public:
  Units(const KernelContext& context, SparseKernel kernel)
      : context_(context), constants_(&constants_of(kernel, context.device.kernels)) {}

  // Matrix cycles of all units at the peak rate.
  [[nodiscard]] double cycles(double flops, Dtype dtype) const {
    return flops / context_.device.matrix_rate_of(dtype).value();
  }
  // The time of cycles that all units share.
  [[nodiscard]] Seconds time(double all_cycles) const {
    return all_cycles / real(context_.compute_units) / context_.clock;
  }
  // Gradients added atomically, at the rate of the units that are left.
  [[nodiscard]] Seconds added(Bytes bytes) const {
    const double share = real(context_.compute_units) / real(context_.device.compute_units);
    return bytes / (share * constants().reduction_rate);
  }
  [[nodiscard]] const SparseAttentionConstants& constants() const { return *constants_; }

 private:
  const KernelContext& context_;
  const SparseAttentionConstants* constants_;
};

OpCost priced(const std::vector<SequencedKernel>& kernels, Dtype dtype,
              const KernelContext& context) {
  return sequence_cost({kernels, dtype, 1.0}, context);
}

OpCost scores_and_choice(const IndexScores& op, const KernelContext& context) {
  const Units units(context, SparseKernel::kLibrary);
  const SparseAttentionConstants& constants = units.constants();
  const double queries = real(op.batch) * real(op.seq_q);
  const double scores = real(op.batch) * scored_pairs(op);
  const double cycles = units.cycles(2.0 * scores * real(op.heads) * real(op.d), op.dtype);
  const Bytes passes = constants.choice_passes * queries * real(keys_to_choose(op)) * kFp32;
  const Seconds choice =
      units.time(queries * constants.choice_cycles) + passes / context.device.hbm.achieved;
  return priced({{.name = "scores",
                  .units = units.time(cycles / constants.index_efficiency),
                  .hbm = compulsory_bytes(op) + scores * kFp32,
                  .matrix_cycles = cycles},
                 {.name = "choice", .units = choice, .unit_bound = Bound::kMemory, .hbm = passes}},
                op.dtype, context);
}

OpCost gradients_of_scores(const IndexScores& op, const KernelContext& context) {
  const Units units(context, SparseKernel::kLibrary);
  const SparseAttentionConstants& constants = units.constants();
  const double listed = real(op.batch) * real(op.seq_q) * real(listed_keys(op));
  std::vector<SequencedKernel> kernels;
  if (op.teacher_heads > 0) {
    const double taught =
        units.cycles(2.0 * listed * real(op.teacher_heads) * real(op.teacher_d), Dtype::kBf16);
    kernels.push_back({.name = "teacher",
                       .units = units.time(taught / constants.teacher_efficiency),
                       .hbm = listed * (kIndex + kFp32),
                       .matrix_cycles = taught});
  }
  const double cycles = units.cycles(6.0 * listed * real(op.heads) * real(op.d), Dtype::kBf16);
  const Seconds products = units.time(cycles / constants.backward_efficiency);
  const Seconds added = units.added(listed * real(op.d) * kFp32);
  kernels.push_back({.name = "gradients",
                     .units = max(products, added),
                     .unit_bound = products < added ? Bound::kCache : Bound::kCompute,
                     .hbm = compulsory_bytes(op) + listed * kFp32,
                     .matrix_cycles = cycles});
  return priced(kernels, Dtype::kBf16, context);
}

}  // namespace

OpCost sparse_attention_cost(const SparseAttention& op, const KernelContext& context) {
  const Units units(context, op.kernel);
  const SparseAttentionConstants& constants = units.constants();
  const double queries = real(op.batch) * real(op.seq_q);
  const double listed = real(listed_keys(op));
  const double d_qk = real(op.d_qk);
  const double d_v = real(op.d_v);
  const double width = is_forward(op.direction) ? d_qk + d_v : 3.0 * d_qk + 2.0 * d_v;
  const double cycles = units.cycles(2.0 * queries * real(op.heads) * listed * width, op.dtype);
  if (is_forward(op.direction)) {
    const Seconds transfers = compulsory_bytes(op) / context.device.hbm.achieved;
    return priced({{.name = "attention",
                    .units = units.time(cycles / constants.forward_efficiency) + transfers,
                    .hbm = compulsory_bytes(op),
                    .matrix_cycles = cycles}},
                  op.dtype, context);
  }
  const double groups =
      real(op.kv_heads) * std::ceil(real(op.heads) / real(op.kv_heads) / kHeadsOfGroup);
  const Seconds products = units.time(cycles / constants.backward_efficiency);
  const Seconds added = units.added(queries * groups * listed * d_qk * kFp32);
  const double outputs = queries * real(op.heads) * d_v;
  const double own = op.window > 0 ? real(op.seq_kv) : 0.0;
  const double keys = real(op.batch) * (real(keys_to_choose(op)) + own) * real(op.kv_heads) * d_qk;
  return priced({{.name = "output_products", .hbm = 2.0 * outputs * kSixteenBit},
                 {.name = "zeros", .hbm = keys * kFp32},
                 {.name = "attention",
                  .units = products + added,
                  .unit_bound = products < added ? Bound::kCache : Bound::kCompute,
                  .hbm = compulsory_bytes(op),
                  .matrix_cycles = cycles},
                 {.name = "conversion", .hbm = keys * (kFp32 + kSixteenBit)}},
                op.dtype, context);
}

OpCost index_scores_cost(const IndexScores& op, const KernelContext& context) {
  return is_forward(op.direction) ? scores_and_choice(op, context)
                                  : gradients_of_scores(op, context);
}

}  // namespace stepcast
