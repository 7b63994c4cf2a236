// SPDX-License-Identifier: Apache-2.0
// A table of the user's measurements over the default models, for every role: `measured:FILE`.
//
//   time         = ratio * model(shape, clock)
//   ratio of row = measured / model(row, clock of the row's state)
//   ratio        = geometric mean of the rows of this very operator                  (measured)
//                = exp(sum w_i ln ratio_i / sum w_i), w_i = 1 / max(d_i, 0.01),
//                  over the nearest eight rows (interpolated)
//                = 1 without a row near                                              (fallback)
//   d_i          = sqrt(sum over sizes of log2(size / size of row i)^2)
//
// The clock of a row's state balances the model's energy with the measured time, so that the same
// operator at the same state gets its measured time again; a locked clock is taken as it is. A
// measured clock beside the time is not used. Energies stay the model's.
//
// A row is near if each size is within a factor of 2 and the rest is the same:
//   gemm          m, n, k, batch                          format, pass
//   grouped_gemm  groups, rows of all, of the largest, n, k   format, pass, one kernel or many
//   attention     batch, sequences, heads                 format, pass, kernel, mask, head sizes
//   linear_attention  batch, sequence, heads              format, pass, rule, chunk, head sizes
//   sparse_attention  batch, sequences, heads             format, pass, chosen, window, head sizes
//   index_scores  batch, sequences, heads, chosen         format, pass, head size, teacher
//   memory_bound  rows, cols                              kind, pass, implementation, element
//   collective    bytes                                   operation, ranks, stride, algorithm
//   exchange      tokens, hidden, experts                 dispatcher, ranks, stride, top k
// What a row cannot say but a step knows (operands left in the cache, gradients that are added)
// changes the model's part only: such an operator is interpolated even from a row of its sizes.
//
// Assumes that what the model misses is a property of the kernel and changes slowly with its sizes;
// that rows were measured on the part as its profile describes it, at the profile's power limit and
// with the launches of the step. Rows whose time holds another kernel besides are left out.
//
// Wrong where a library changes its kernel between two rows, on the edge of the reach (the ratio
// jumps to 1 there), for collectives on a fabric other than the node of the rows, and as much as a
// single bad row: nothing is smoothed. More of a size may then take less time. Between rows it is
// worth as much as the model's errors are alike: of 653 products on H200 from rows of other shapes,
// the mean error is 4.9 % beside 4.8 % of the model alone, which was fitted to that machine, and
// 6.4 % beside 23 % if all of them take 1.3 times as long.
#include "backends/measured/measured_table.hpp"

namespace stepcast {
namespace {

OpCost corrected(OpCost cost, const TableFactor& factor) {
  cost.duration = factor.ratio * cost.duration;
  for (CostTerm& term : cost.terms) {
    term.duration = factor.ratio * term.duration;
  }
  cost.origin = factor.origin;
  return cost;
}

// The table's rows of a role over the default model of that role.
class MeasuredModel final : public GemmModel,
                            public AttentionModel,
                            public MemoryBoundModel,
                            public CollectiveModel {
 public:
  MeasuredModel(BackendRole role, const MeasuredOperators& measured) : table_(role, measured) {}

  [[nodiscard]] OpCost gemm(const Gemm& op, const KernelContext& context) const override {
    return corrected(model_.gemm->gemm(op, context), table_.factor(op, context.device.name));
  }
  [[nodiscard]] OpCost grouped_gemm(const GroupedGemm& op,
                                    const KernelContext& context) const override {
    return corrected(model_.gemm->grouped_gemm(op, context),
                     table_.factor(op, context.device.name));
  }
  [[nodiscard]] OpCost attention(const Attention& op, const KernelContext& context) const override {
    return corrected(model_.attention->attention(op, context),
                     table_.factor(op, context.device.name));
  }
  [[nodiscard]] OpCost linear_attention(const LinearAttention& op,
                                        const KernelContext& context) const override {
    return corrected(model_.attention->linear_attention(op, context),
                     table_.factor(op, context.device.name));
  }
  [[nodiscard]] OpCost sparse_attention(const SparseAttention& op,
                                        const KernelContext& context) const override {
    return corrected(model_.attention->sparse_attention(op, context),
                     table_.factor(op, context.device.name));
  }
  [[nodiscard]] OpCost index_scores(const IndexScores& op,
                                    const KernelContext& context) const override {
    return corrected(model_.attention->index_scores(op, context),
                     table_.factor(op, context.device.name));
  }
  [[nodiscard]] OpCost memory_bound(const MemoryBound& op,
                                    const KernelContext& context) const override {
    return corrected(model_.memory_bound->memory_bound(op, context),
                     table_.factor(op, context.device.name));
  }
  [[nodiscard]] OpCost collective(const Collective& op,
                                  const FabricContext& context) const override {
    return corrected(model_.collective->collective(op, context),
                     table_.factor(op, context.cluster.device.name));
  }
  [[nodiscard]] OpCost exchange(const ExpertExchange& op,
                                const FabricContext& context) const override {
    return corrected(model_.collective->exchange(op, context),
                     table_.factor(op, context.cluster.device.name));
  }

 private:
  CostModel model_ = default_cost_model();
  MeasuredTable table_;
};

}  // namespace

std::shared_ptr<const GemmModel> make_measured_gemm(const MeasuredOperators& measured) {
  return std::make_shared<MeasuredModel>(BackendRole::kGemm, measured);
}

std::shared_ptr<const AttentionModel> make_measured_attention(const MeasuredOperators& measured) {
  return std::make_shared<MeasuredModel>(BackendRole::kAttention, measured);
}

std::shared_ptr<const MemoryBoundModel> make_measured_memory_bound(
    const MeasuredOperators& measured) {
  return std::make_shared<MeasuredModel>(BackendRole::kMemoryBound, measured);
}

std::shared_ptr<const CollectiveModel> make_measured_collective(const MeasuredOperators& measured) {
  return std::make_shared<MeasuredModel>(BackendRole::kCollective, measured);
}

}  // namespace stepcast
