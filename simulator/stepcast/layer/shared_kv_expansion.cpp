// SPDX-License-Identifier: Apache-2.0
// Attention of DeepSeek-V4: one head of keys that are values as well, a window of them, and beside
// it keys that stand for several positions each, all of them or those that an indexer chooses.
//
//   q = norm(W_qb norm(W_qa h)), head by head     k = v = norm(W_kv h), positions in their last
//   part o = W_o [W_g o_g of each group of heads]      after the values' positions are taken back
//
// Tensor parallelism divides query heads and groups; every rank has all keys. Source:
// inference/model.py of the checkpoint; AMD-AGI/Primus, core/transformer/deepseek_v4_attention.py.
#include <algorithm>

#include "stepcast/base/dtype.hpp"
#include "stepcast/layer/mixer_expansion.hpp"

namespace stepcast {
namespace {

using Kind = MemoryBoundKind;

constexpr Bytes kSharedStatistic{4};
constexpr Bytes kPoolChoiceElement{4};

class SharedKvExpander {
 public:
  SharedKvExpander(const ExpansionContext& context, LayerKind kind, BlockBuilder& build)
      : context_(context),
        kind_(kind),
        build_(build),
        a_(context.model.attention),
        rows_(context.tokens()),
        of_layer_(heads_of(context.model, kind)),
        heads_(local_heads(of_layer_.query, context.plan.tp)),
        width_(heads_ * of_layer_.qk_dim) {}

  void expand() {
    build_.begin(Block::kAttention);
    build_.enter_tensor_parallel(OpId::kAttentionTpIn);
    project();
    if (kind_.compression > 0) {
      compress_keys(context_, kind_.compression, of_layer_.qk_dim, a_.mla.qk_rope_head_dim, build_);
    }
    if (chooses_keys(context_.model, kind_)) {
      expand_indexer(context_, kind_, build_);
      build_.save(TensorId::kIndexChoice, OpId::kIndexScores, rows_, chosen(), kPoolChoiceElement);
    }
    {
      const BlockBuilder::ModuleScope scope(build_, {RecomputeModule::kCoreAttention});
      core();
    }
    build_.save(TensorId::kAttentionOutput, OpId::kAttentionCore, rows_, width_, kSixteenBits);
    build_.memory_bound(OpId::kAttentionRope, Kind::kRope, rows_, heads_ * a_.mla.qk_rope_head_dim,
                        context_.software.rope);
    project_output();
    build_.leave_tensor_parallel(OpId::kAttentionTpOut);
  }

 private:
  // Keys that a query may see beside its window.
  [[nodiscard]] std::int64_t pool() const {
    return kind_.compression > 0
               ? std::max<std::int64_t>(1, context_.training.sequence_length / kind_.compression)
               : 0;
  }
  [[nodiscard]] std::int64_t chosen() const {
    return chooses_keys(context_.model, kind_) ? std::min(a_.indexer->chosen, pool()) : pool();
  }

  void project() {
    const std::int64_t hidden = context_.model.hidden;
    const std::int64_t rank = a_.mla.q_lora_rank;
    const Implementation norms = context_.software.norm;
    const std::int64_t readers = 2 + (kind_.compression > 0 ? 1 : 0);
    build_.gradient_sum(OpId::kAttentionGradientSum, rows_, readers, norms);
    build_.projection(OpId::kAttentionQDown, rows_, rank, hidden);
    build_.memory_bound(OpId::kAttentionQLoraNorm, Kind::kNorm, rows_, rank, norms);
    build_.projection(OpId::kAttentionQUp, rows_, width_, rank);
    build_.save_result(TensorId::kAttentionQNormInput, rows_, width_, kSixteenBits);
    build_.memory_bound(OpId::kAttentionQNorm, Kind::kNorm, rows_, width_, norms);
    build_.save_result(TensorId::kAttentionQ, rows_, width_, kSixteenBits);
    build_.projection(OpId::kAttentionKv, rows_, of_layer_.qk_dim, hidden);
    build_.memory_bound(OpId::kAttentionKvNorm, Kind::kNorm, rows_, of_layer_.qk_dim, norms);
    build_.save(TensorId::kAttentionLatents, OpId::kAttentionKv, rows_,
                2 * (rank + of_layer_.qk_dim), kSixteenBits);
    build_.memory_bound(OpId::kAttentionRope, Kind::kRope, rows_,
                        (heads_ + 1) * a_.mla.qk_rope_head_dim, context_.software.rope);
  }

  // A rank needs the rows of its window that lie on the rank before, and all compressed keys.
  void core() {
    const std::int64_t sequence = context_.training.sequence_length;
    pass_halo(context_, OpId::kAttentionCp, std::max<std::int64_t>(kind_.window, 1),
              of_layer_.qk_dim, build_);
    SparseAttention op;
    op.batch = context_.training.micro_batch_size;
    op.seq_q = sequence / context_.plan.cp;
    op.seq_kv = sequence;
    op.ratio = std::max<std::int64_t>(1, kind_.compression);
    op.heads = heads_;
    op.d_qk = of_layer_.qk_dim;
    op.d_v = of_layer_.v_dim;
    op.chosen = chosen();
    op.window = kind_.window;
    op.sinks = a_.sinks;
    op.kernel = context_.software.sparse_attention;
    if (kind_.compression > 0) {
      gather_keys();
    }
    build_.mixing(OpId::kAttentionCore, op);
    build_.save_result(TensorId::kAttentionLogSumExp, rows_ * heads_, 1, kSharedStatistic);
  }

  void gather_keys() {
    const std::int64_t batch = context_.training.micro_batch_size;
    const Collective keys{CollectiveOp::kAllGather,
                          static_cast<double>(batch * pool() * of_layer_.qk_dim) * kSixteenBits,
                          context_.plan.cp_group(), Axis::kContext};
    build_.forward_collective(OpId::kAttentionCp, keys);
    Collective gradients = keys;
    gradients.op = CollectiveOp::kReduceScatter;
    build_.backward_collective(OpId::kAttentionCp, gradients);
  }

  void project_output() {
    const std::int64_t groups = std::max<std::int64_t>(1, a_.output_groups / context_.plan.tp);
    const std::int64_t rank = a_.output_lora_rank;
    build_.batched_projection(OpId::kAttentionODown, groups, rows_, rank, width_ / groups);
    if (build_.trains() && build_.keeps_operand()) {
      build_.save_result(TensorId::kAttentionLowRankOutput, rows_, groups * rank, build_.operand());
    }
    build_.projection(OpId::kAttentionO, rows_, context_.model.hidden, groups * rank);
  }

  const ExpansionContext& context_;
  LayerKind kind_;
  BlockBuilder& build_;
  const AttentionSpec& a_;
  std::int64_t rows_;
  AttentionHeads of_layer_;
  std::int64_t heads_;
  std::int64_t width_;
};

}  // namespace

void expand_shared_kv(const ExpansionContext& context, LayerKind kind, BlockBuilder& build) {
  SharedKvExpander(context, kind, build).expand();
}

}  // namespace stepcast
