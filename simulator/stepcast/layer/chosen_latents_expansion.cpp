// SPDX-License-Identifier: Apache-2.0
// Latent attention to the keys that an indexer chooses (DeepSeek-V3.2-Exp, arXiv 2512.02556;
// GLM-5).
//
// A list of keys serves all heads, so that the latent of a position is key and value of all of them
// at once: the matrices that would make keys and values of it multiply queries before and results
// after attention, head by head.
//
//   q' = [q_nope W_k, q_rope]     keys [latent, k_rope]     o = (P latent) W_v
//
// The indexer of sparse attention (IndexerSpec) and the compression of keys (CompressionSpec).
//
// Index queries come of the latent queries, index keys of the hidden state, or of it compressed. A
// trained indexer has a loss of its own, on what the model's loss does not reach through it: its
// products have weight gradients and no input gradients (DeepSeek-V3.2-Exp, section 2.1).
//
// Sources: inference/model.py of DeepSeek-V3.2-Exp and of DeepSeek-V4; AMD-AGI/Primus,
// core/transformer/{indexer,compressor}.py.
#include <algorithm>

#include "stepcast/base/dtype.hpp"
#include "stepcast/layer/mixer_expansion.hpp"

namespace stepcast {
namespace {

using Kind = MemoryBoundKind;

std::int64_t choices(const ExpansionContext& context, LayerKind kind) {
  const std::int64_t keys =
      context.training.sequence_length / std::max<std::int64_t>(1, kind.compression);
  return std::min(context.model.attention.indexer->chosen, std::max<std::int64_t>(1, keys));
}

void index_products(const ExpansionContext& context, LayerKind kind, BlockBuilder& build) {
  const AttentionSpec& a = context.model.attention;
  const IndexerSpec& indexer = *a.indexer;
  const std::int64_t rows = context.tokens();
  const std::int64_t hidden = context.model.hidden;
  const std::int64_t rope = a.mla.qk_rope_head_dim;
  const std::int64_t rank = a.mla.q_lora_rank;
  build.projection(OpId::kIndexQ, rows, indexer.heads * indexer.head_dim, rank > 0 ? rank : hidden);
  build.projection(OpId::kIndexWeights, rows, indexer.heads, hidden);
  if (kind.compression > 0) {
    compress_keys(context, kind.compression, indexer.head_dim, rope, build);
  } else {
    build.projection(OpId::kIndexK, rows, indexer.head_dim, hidden);
    build.memory_bound(OpId::kIndexNorm, Kind::kLayerNorm, rows, indexer.head_dim,
                       context.software.norm);
  }
  build.memory_bound(OpId::kIndexRope, Kind::kRope, rows, (indexer.heads + 1) * rope,
                     context.software.rope);
}

constexpr Bytes kLatentStatistic{4};
constexpr Bytes kChoiceElement{4};

// As of latent attention without a choice, but for the product that makes keys and values.
void project(const ExpansionContext& context, const AttentionHeads& of_layer, std::int64_t heads,
             BlockBuilder& build) {
  const MlaSpec& m = context.model.attention.mla;
  const std::int64_t rows = context.tokens();
  const std::int64_t hidden = context.model.hidden;
  const Implementation norms = context.software.norm;
  const std::int64_t latents = m.kv_lora_rank + m.qk_rope_head_dim;
  build.gradient_sum(OpId::kAttentionGradientSum, rows, 2, norms);
  if (m.q_lora_rank > 0) {
    build.projection(OpId::kAttentionQDown, rows, m.q_lora_rank, hidden);
    build.memory_bound(OpId::kAttentionQLoraNorm, Kind::kNorm, rows, m.q_lora_rank, norms);
  }
  const OpId q = m.q_lora_rank > 0 ? OpId::kAttentionQUp : OpId::kAttentionQ;
  build.projection(q, rows, heads * of_layer.qk_dim, m.q_lora_rank > 0 ? m.q_lora_rank : hidden);
  build.save_result(TensorId::kAttentionQ, rows, heads * of_layer.qk_dim, kSixteenBits);
  build.projection(OpId::kAttentionKvDown, rows, latents, hidden);
  build.memory_bound(OpId::kAttentionKvLoraNorm, Kind::kNorm, rows, m.kv_lora_rank, norms);
  build.save(TensorId::kAttentionLatents, OpId::kAttentionKvDown, rows,
             2 * (m.q_lora_rank + m.kv_lora_rank) + m.qk_rope_head_dim, kSixteenBits);
  build.memory_bound(OpId::kAttentionRope, Kind::kRope, rows, (heads + 1) * m.qk_rope_head_dim,
                     context.software.rope);
  build.batched_projection(OpId::kAttentionQAbsorb, heads, rows, m.kv_lora_rank,
                           m.qk_nope_head_dim);
  build.memory_bound(OpId::kAttentionQConcat, Kind::kJoin, rows, heads * latents,
                     context.software.rope);
  build.save_result(TensorId::kAttentionAbsorbed, rows, heads * latents, kSixteenBits);
  build.memory_bound(OpId::kAttentionKConcat, Kind::kJoin, rows, latents, context.software.rope);
  build.save_result(TensorId::kAttentionK, rows, latents, kSixteenBits);
}

}  // namespace

void expand_chosen_latents(const ExpansionContext& context, LayerKind kind, BlockBuilder& build) {
  using ModuleScope = BlockBuilder::ModuleScope;
  const AttentionSpec& a = context.model.attention;
  const ParallelPlan& plan = context.plan;
  const AttentionHeads of_layer = heads_of(context.model, kind);
  const std::int64_t heads = local_heads(of_layer.query, plan.tp);
  const std::int64_t rows = context.tokens();
  const std::int64_t latents = a.mla.kv_lora_rank + a.mla.qk_rope_head_dim;
  build.begin(Block::kAttention);
  build.enter_tensor_parallel(OpId::kAttentionTpIn);
  project(context, of_layer, heads, build);
  expand_indexer(context, kind, build);
  build.save(TensorId::kIndexChoice, OpId::kIndexScores, rows, a.indexer->chosen, kChoiceElement);
  {
    const ModuleScope scope(build, {RecomputeModule::kCoreAttention});
    gather_rows(context, OpId::kAttentionCp, latents, build);
    SparseAttention op;
    op.batch = context.training.micro_batch_size;
    op.seq_q = context.training.sequence_length / plan.cp;
    op.seq_kv = context.training.sequence_length;
    op.heads = heads;
    op.d_qk = latents;
    op.d_v = a.mla.kv_lora_rank;
    op.chosen = std::min(a.indexer->chosen, op.seq_kv);
    op.sinks = a.sinks;
    op.kernel = context.software.sparse_attention;
    build.mixing(OpId::kAttentionCore, op);
    build.save_result(TensorId::kAttentionLogSumExp, rows * heads, 1, kLatentStatistic);
  }
  build.save(TensorId::kAttentionOutput, OpId::kAttentionCore, rows, heads * a.mla.kv_lora_rank,
             kSixteenBits);
  build.batched_projection(OpId::kAttentionOAbsorb, heads, rows, of_layer.v_dim,
                           a.mla.kv_lora_rank);
  if (build.trains() && build.keeps_operand()) {
    build.save_result(TensorId::kAttentionGated, rows, heads * of_layer.v_dim, build.operand());
  }
  build.projection(OpId::kAttentionO, rows, context.model.hidden, heads * of_layer.v_dim);
  build.leave_tensor_parallel(OpId::kAttentionTpOut);
}

void compress_keys(const ExpansionContext& context, std::int64_t ratio, std::int64_t width,
                   std::int64_t rope, BlockBuilder& build) {
  const bool overlap = ratio == context.model.attention.compression.indexed_ratio;
  const std::int64_t rows = context.tokens();
  const std::int64_t channels = (overlap ? 2 : 1) * width;
  const std::int64_t keys = std::max<std::int64_t>(1, rows / ratio);
  build.projection_16bit(OpId::kCompressionIn, rows, 2 * channels, context.model.hidden);
  build.save_result(TensorId::kCompressionInput, rows, 2 * channels, kSixteenBits);
  build.memory_bound(OpId::kCompressionPool, Kind::kPool, rows, channels, context.software.norm);
  build.memory_bound(OpId::kCompressionNorm, Kind::kNorm, keys, width, context.software.norm);
  build.memory_bound(OpId::kCompressionRope, Kind::kRope, keys, rope, context.software.rope);
  build.save_result(TensorId::kCompressedKeys, keys, width, kSixteenBits);
}

void expand_indexer(const ExpansionContext& context, LayerKind kind, BlockBuilder& build) {
  const AttentionSpec& a = context.model.attention;
  const IndexerSpec& indexer = *a.indexer;
  using OwnLoss = BlockBuilder::OwnLoss;
  const BlockBuilder::Detached detached(
      build, indexer.trained && build.trains() ? OwnLoss::kTrains : OwnLoss::kNone);
  index_products(context, kind, build);
  const std::int64_t rows = context.tokens();
  const std::int64_t ratio = std::max<std::int64_t>(1, kind.compression);
  const Collective keys{
      CollectiveOp::kAllGather,
      static_cast<double>(context.plan.cp * std::max<std::int64_t>(1, rows / ratio) *
                          indexer.head_dim) *
          kSixteenBits,
      context.plan.cp_group(), Axis::kContext};
  build.forward_collective(OpId::kAttentionCp, keys);
  build.save(TensorId::kIndexInputs, OpId::kIndexQ, rows,
             indexer.heads * (indexer.head_dim + 1) + indexer.head_dim, kSixteenBits);
  IndexScores op;
  op.batch = context.training.micro_batch_size;
  op.seq_q = context.training.sequence_length / context.plan.cp;
  op.seq_kv = context.training.sequence_length;
  op.ratio = ratio;
  op.heads = indexer.heads;
  op.d = indexer.head_dim;
  op.chosen = choices(context, kind);
  if (indexer.trained) {
    op.teacher_heads = local_heads(heads_of(context.model, kind).query, context.plan.tp);
    op.teacher_d = a.kind == AttentionKind::kMla ? a.mla.kv_lora_rank + a.mla.qk_rope_head_dim
                                                 : heads_of(context.model, kind).qk_dim;
  }
  build.mixing(OpId::kIndexScores, op);
}

}  // namespace stepcast
