// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/mixer_expansion.hpp"

#include <algorithm>

#include "stepcast/base/dtype.hpp"

namespace stepcast {
namespace {

using Kind = MemoryBoundKind;

constexpr Bytes kStatistic{4};
constexpr Bytes kScoreMask{1};

class AttentionExpander {
 public:
  AttentionExpander(const ExpansionContext& context, LayerKind kind, BlockBuilder& build)
      : context_(context), kind_(kind), build_(build) {}

  void expand() {
    build_.begin(Block::kAttention);
    build_.enter_tensor_parallel(OpId::kAttentionTpIn);
    const Projected projected =
        model().attention.kind == AttentionKind::kMla ? mla_projections() : gqa_projections();
    qk_norm();
    attention_copies();
    save_attention_inputs(projected);
    {
      const ModuleScope scope(build_, {RecomputeModule::kCoreAttention});
      core_attention();
      save_scores();
    }
    const AttentionSpec& a = model().attention;
    const std::int64_t width = local_heads(a.heads, plan().tp) * a.v_head_dim;
    build_.save(TensorId::kAttentionOutput, OpId::kAttentionCore, context_.tokens(), width,
                software().memory.attention_output);
    if (a.output_gate) {
      gate_output(width);
    }
    build_.projection(OpId::kAttentionO, context_.tokens(), hidden(), width);
    build_.leave_tensor_parallel(OpId::kAttentionTpOut);
    build_.adapt_row(LoraTarget::kO, width, OpId::kAttentionCore);
  }

 private:
  using ModuleScope = BlockBuilder::ModuleScope;

  [[nodiscard]] const ModelSpec& model() const { return context_.model; }
  [[nodiscard]] const ParallelPlan& plan() const { return context_.plan; }
  [[nodiscard]] const SoftwareSpec& software() const { return context_.software; }
  [[nodiscard]] std::int64_t hidden() const { return context_.model.hidden; }

  // A sigmoid of each value, in the kernel of its product with the output.
  void gate_output(std::int64_t width) {
    const std::int64_t rows = context_.tokens();
    build_.save(TensorId::kAttentionGate, OpId::kAttentionGate, rows, width, kSixteenBits);
    build_.memory_bound(OpId::kAttentionGating, Kind::kGate, rows, width, software().norm);
    if (build_.trains() && build_.keeps_operand()) {
      build_.save_result(TensorId::kAttentionGated, rows, width, build_.operand());
    }
  }

  // The products that queries, keys and values come from.
  struct Projected {
    OpId q = OpId::kAttentionQ;
    OpId k = OpId::kAttentionK;
    OpId v = OpId::kAttentionV;
    OpId whole = OpId::kAttentionQ;  // of all three beside the copies that attention reads
  };

  void save_attention_inputs(const Projected& from) {
    const AttentionSpec& a = model().attention;
    const std::int64_t rows = context_.tokens();
    const std::int64_t q = local_heads(a.heads, plan().tp) * a.qk_head_dim;
    const std::int64_t k = local_heads(a.kv_heads, plan().tp) * a.qk_head_dim;
    const std::int64_t v = local_heads(a.kv_heads, plan().tp) * a.v_head_dim;
    {
      const bool latent = a.kind == AttentionKind::kMla;
      const ModuleScope scope(build_, latent ? ModuleSet{RecomputeModule::kMlaUp} : ModuleSet{});
      build_.save(TensorId::kAttentionQ, from.q, rows, q, operand());
      build_.save(TensorId::kAttentionK, from.k, rows, k, operand());
      const bool view = latent && software().memory.values_keep_projection;
      const std::int64_t beside =
          view ? local_heads(a.heads, plan().tp) * a.mla.qk_nope_head_dim : 0;
      build_.save(TensorId::kAttentionV, from.v, rows, v + beside, operand());
    }
    if (software().memory.keeps_projected_qkv) {
      build_.save(TensorId::kAttentionProjectedQkv, from.whole, rows, q + k + v, kSixteenBits);
    }
    if (a.qk_norm != QkNorm::kNone) {
      build_.save(TensorId::kAttentionQkNormInput, from.q, rows, q + k, kSixteenBits);
    }
  }

  // Flash attention keeps one log-sum-exp a row; unfused attention keeps the probabilities and,
  // with dropout, its mask and what it let through.
  void save_scores() {
    const std::int64_t rows = context_.tokens() * local_heads(model().attention.heads, plan().tp);
    if (software().attention_kernel() != AttentionKernel::kUnfused) {
      build_.save_result(TensorId::kAttentionLogSumExp, rows, 1, kStatistic);
      return;
    }
    const std::int64_t keys = context_.training.sequence_length;
    // A column of sinks keeps the softmax out of the fused kernel: its result stays in fp32 too.
    const Bytes probability = model().attention.sinks ? kSixteenBits + kStatistic : kSixteenBits;
    build_.save_result(TensorId::kAttentionProbabilities, rows, keys, probability);
    if (context_.training.dropout) {
      build_.save_result(TensorId::kAttentionScoreMask, rows, keys, kScoreMask);
      build_.save_result(TensorId::kAttentionDroppedProbabilities, rows, keys, kSixteenBits);
    }
  }

  Projected gqa_projections() {
    const AttentionSpec& a = model().attention;
    const std::int64_t rows = context_.tokens();
    const std::int64_t q = local_heads(a.heads, plan().tp) * a.qk_head_dim;
    const std::int64_t k = local_heads(a.kv_heads, plan().tp) * a.qk_head_dim;
    const std::int64_t v = local_heads(a.kv_heads, plan().tp) * a.v_head_dim;
    using enum LoraTarget;
    build_.gradient_sum(OpId::kAttentionGradientSum, rows,
                        (software().fused_qkv ? 1 : 3) + (a.output_gate ? 1 : 0) +
                            build_.adapters({kQkv, kQ, kK, kV}),
                        software().norm);
    query_key_value(rows, q, k, v);
    if (model().positions == Positions::kRope) {
      const std::int64_t turned =
          a.rope_head_dim > 0 ? (q + k) / a.qk_head_dim * a.rope_head_dim : q + k;
      build_.memory_bound(OpId::kAttentionRope, Kind::kRope, rows, turned, software().rope);
    }
    constexpr OpId kOne = OpId::kAttentionQkv;
    return software().fused_qkv ? Projected{kOne, kOne, kOne, kOne} : Projected{};
  }

  // The products that read one tensor, and their adapters.
  void query_key_value(std::int64_t rows, std::int64_t q, std::int64_t k, std::int64_t v) {
    const AttentionSpec& a = model().attention;
    const BlockBuilder::SharedInput beside(build_);
    if (software().fused_qkv) {
      build_.projection(OpId::kAttentionQkv, rows, q + k + v, hidden());
    } else {
      build_.projection(OpId::kAttentionQ, rows, q, hidden());
      build_.projection(OpId::kAttentionK, rows, k, hidden());
      build_.projection(OpId::kAttentionV, rows, v, hidden());
    }
    if (a.output_gate) {
      build_.projection(OpId::kAttentionGate, rows, local_heads(a.heads, plan().tp) * a.v_head_dim,
                        hidden());
    }
    build_.adapt_column(LoraTarget::kQkv, q + k + v, OpId::kAttentionNorm);
    build_.adapt_column(LoraTarget::kQ, q, OpId::kAttentionNorm);
    build_.adapt_column(LoraTarget::kK, k, OpId::kAttentionNorm);
    build_.adapt_column(LoraTarget::kV, v, OpId::kAttentionNorm);
  }

  void gate_beside(std::int64_t width) {
    if (model().attention.output_gate) {
      const BlockBuilder::SharedInput beside(build_);
      build_.projection(OpId::kAttentionGate, context_.tokens(), width, hidden());
    }
  }

  // Five products forward: q down, q up, kv down, kv up and (in attention_block) o, or six with one
  // of its own for k rope. The down projections are not divided by tensor parallelism.
  Projected mla_projections() {
    const AttentionSpec& a = model().attention;
    const MlaSpec& m = a.mla;
    const std::int64_t rows = context_.tokens();
    const std::int64_t heads = local_heads(a.heads, plan().tp);
    const bool k_rope_apart = software().mla_k_rope == RopeKeyProduct::kOwn;
    build_.gradient_sum(OpId::kAttentionGradientSum, rows,
                        (k_rope_apart ? 3 : 2) + (a.output_gate ? 1 : 0), software().norm);
    gate_beside(heads * a.v_head_dim);
    if (m.q_lora_rank > 0) {
      build_.projection(OpId::kAttentionQDown, rows, m.q_lora_rank, hidden());
      build_.memory_bound(OpId::kAttentionQLoraNorm, Kind::kNorm, rows, m.q_lora_rank,
                          software().norm);
    }
    const std::int64_t q_inputs = m.q_lora_rank > 0 ? m.q_lora_rank : hidden();
    const OpId q = m.q_lora_rank > 0 ? OpId::kAttentionQUp : OpId::kAttentionQ;
    {
      const ModuleScope scope(build_, {RecomputeModule::kMlaUp});
      build_.projection(q, rows, heads * a.qk_head_dim, q_inputs);
    }
    const std::int64_t with_latent = k_rope_apart ? 0 : m.qk_rope_head_dim;
    build_.projection(OpId::kAttentionKvDown, rows, m.kv_lora_rank + with_latent, hidden());
    if (k_rope_apart) {
      build_.projection(OpId::kAttentionKRope, rows, m.qk_rope_head_dim, hidden());
    }
    build_.memory_bound(OpId::kAttentionKvLoraNorm, Kind::kNorm, rows, m.kv_lora_rank,
                        software().norm);
    // Both latents before and after their norm, and the part of the keys that carries positions.
    build_.save(TensorId::kAttentionLatents, OpId::kAttentionKvDown, rows,
                2 * (m.q_lora_rank + m.kv_lora_rank) + m.qk_rope_head_dim, kSixteenBits);
    const ModuleScope scope(build_, {RecomputeModule::kMlaUp});
    build_.projection(OpId::kAttentionKvUp, rows, heads * (m.qk_nope_head_dim + a.v_head_dim),
                      m.kv_lora_rank);
    if (model().positions == Positions::kRope) {
      build_.memory_bound(OpId::kAttentionRope, Kind::kRope, rows,
                          heads * m.qk_rope_head_dim + m.qk_rope_head_dim, software().rope);
    }
    assemble_heads(rows, heads * a.qk_head_dim);
    return {q, OpId::kAttentionKvUp, OpId::kAttentionKvUp, OpId::kAttentionKvUp};
  }

  // Keys are assembled from their two parts for every head; so are queries, unless the kernel that
  // rotates them works in place.
  void assemble_heads(std::int64_t rows, std::int64_t width) {
    if (software().rope == Implementation::kEager) {
      build_.memory_bound(OpId::kAttentionQConcat, Kind::kJoin, rows, width, software().rope);
    }
    build_.memory_bound(OpId::kAttentionKConcat, Kind::kJoin, rows, width, software().rope);
  }

  void qk_norm() {
    const AttentionSpec& a = model().attention;
    if (a.qk_norm == QkNorm::kNone) {
      return;
    }
    const std::int64_t width = local_heads(a.heads, plan().tp) * a.qk_head_dim;
    const std::int64_t kv_width = local_heads(a.kv_heads, plan().tp) * a.qk_head_dim;
    build_.memory_bound(OpId::kAttentionQNorm, Kind::kNorm, context_.tokens(), width,
                        software().norm);
    build_.memory_bound(OpId::kAttentionKNorm, Kind::kNorm, context_.tokens(), kv_width,
                        software().norm);
  }

  void attention_copies() {
    const AttentionSpec& a = model().attention;
    const std::int64_t width = local_heads(a.heads, plan().tp) * a.qk_head_dim +
                               local_heads(a.kv_heads, plan().tp) * (a.qk_head_dim + a.v_head_dim);
    for (std::int64_t i = 0; i < software().attention_copies; ++i) {
      build_.memory_bound(OpId::kAttentionCopy, Kind::kStridedCopy, context_.tokens(), width,
                          Implementation::kEager);
    }
  }

  void core_attention() {
    const AttentionSpec& a = model().attention;
    const std::int64_t cp = plan().cp;
    Attention op;
    op.batch = context_.training.micro_batch_size;
    op.seq_kv = context_.training.sequence_length;
    op.heads = local_heads(a.heads, plan().tp);
    op.kv_heads = local_heads(a.kv_heads, plan().tp);
    op.d_qk = a.qk_head_dim;
    op.d_v = a.v_head_dim;
    op.window = kind_.window;
    op.kernel = software().attention_kernel();
    op.sinks = a.sinks;
    op.dropout = context_.training.dropout;
    op.dtype = in_8bit() ? Dtype::kFp8 : op.dtype;
    if (software().keeps_documents_apart()) {
      op.documents = context_.training.documents;
    }
    if (plan().cp_algorithm == CpAlgorithm::kAllToAll && cp > 1) {
      op.seq_q = op.seq_kv;
      op.heads = local_heads(op.heads, cp);
      op.kv_heads = local_heads(op.kv_heads, cp);
    } else {
      op.seq_q = op.seq_kv / cp;
    }
    quantize_operands();
    context_parallel_forward();
    build_.mixing(OpId::kAttentionCore, op);
  }

  [[nodiscard]] bool in_8bit() const {
    return software().attention_8bit && is_quantized(context_.training.dtype);
  }
  [[nodiscard]] Bytes operand() const { return in_8bit() ? Bytes(1) : kSixteenBits; }

  // Queries, keys and values forward, the gradient of the output backward.
  void quantize_operands() {
    if (!in_8bit()) {
      return;
    }
    const AttentionSpec& a = model().attention;
    const std::int64_t output = local_heads(a.heads, plan().tp) * a.v_head_dim;
    const std::int64_t inputs = local_heads(a.heads, plan().tp) * a.qk_head_dim +
                                local_heads(a.kv_heads, plan().tp) * (a.qk_head_dim + a.v_head_dim);
    build_.forward_memory_bound(OpId::kQuantize, Kind::kQuantize, context_.tokens(), inputs,
                                Implementation::kFused, kSixteenBits);
    build_.backward_memory_bound(OpId::kQuantize, Kind::kQuantize, context_.tokens(), output,
                                 Implementation::kFused, kSixteenBits);
  }

  // Rows of this rank by heads, of keys and values (kv) and of queries and results (qo).
  [[nodiscard]] Bytes kv_bytes() const {
    return static_cast<double>(context_.tokens() * kv_width()) * Bytes(2);
  }
  [[nodiscard]] std::int64_t kv_width() const {
    const AttentionSpec& a = model().attention;
    return local_heads(a.kv_heads, plan().tp) * (a.qk_head_dim + a.v_head_dim);
  }
  [[nodiscard]] Bytes qo_bytes() const {
    const AttentionSpec& a = model().attention;
    const std::int64_t heads = local_heads(a.heads, plan().tp);
    return static_cast<double>(context_.tokens() * heads * (a.qk_head_dim + a.v_head_dim)) *
           Bytes(2);
  }
  void forward_cp(CollectiveOp op, Bytes bytes) {
    build_.forward_collective(OpId::kAttentionCp, {op, bytes, plan().cp_group(), Axis::kContext});
  }
  void backward_cp(CollectiveOp op, Bytes bytes) {
    build_.backward_collective(OpId::kAttentionCp, {op, bytes, plan().cp_group(), Axis::kContext});
  }

  // Ring: each rank passes its keys and values to its neighbour cp - 1 times, and their gradients
  // as well in backward. All-gather: the same bytes in one collective, reduce-scattered in
  // backward. All-to-all: q, k, v and the output change from sequence to head shards.
  void context_parallel_forward() {
    const std::int64_t cp = plan().cp;
    if (cp == 1) {
      return;
    }
    const Bytes kv = static_cast<double>(cp) * kv_bytes();
    if (plan().cp_algorithm == CpAlgorithm::kAllToAll) {
      forward_cp(CollectiveOp::kAllToAll, qo_bytes() + kv_bytes());
      return backward_cp(CollectiveOp::kAllToAll, qo_bytes() + kv_bytes());
    }
    if (software().ring_attention != Implementation::kFused) {
      return merged_by_passes();
    }
    forward_cp(CollectiveOp::kAllGather, kv);
    if (plan().cp_algorithm == CpAlgorithm::kRing) {
      return backward_cp(CollectiveOp::kAllGather, 2.0 * kv);
    }
    backward_cp(CollectiveOp::kAllGather, kv);
    backward_cp(CollectiveOp::kReduceScatter, kv);
  }

  // torch.distributed.tensor.experimental.context_parallel: keys and values are put together and
  // gathered; of each further rank's keys a second call of attention makes a partial result, which
  // is merged; in backward gradients of keys and values go round once, in fp32.
  void merged_by_passes() {
    const AttentionSpec& a = model().attention;
    const Implementation passes = software().ring_attention;
    const std::int64_t cp = plan().cp;
    const std::int64_t others = context_.tokens() * (cp - 1);
    const std::int64_t width = local_heads(a.heads, plan().tp) * a.v_head_dim;
    build_.memory_bound(OpId::kAttentionKvJoin, Kind::kJoin, context_.tokens(), kv_width(),
                        Implementation::kFused);
    forward_cp(CollectiveOp::kAllGather, static_cast<double>(cp) * kv_bytes());
    backward_cp(CollectiveOp::kAllGather, static_cast<double>(cp) * kv_bytes());
    // What was gathered is kept, and beside the result of all parts its transposed copy.
    build_.save(TensorId::kAttentionGathered, OpId::kAttentionKvJoin, cp * context_.tokens(),
                kv_width(), kSixteenBits);
    build_.memory_bound(OpId::kAttentionMerge, Kind::kMergePartials, others, width, passes);
    build_.save_result(TensorId::kAttentionMerged, context_.tokens(), width, kSixteenBits);
    build_.backward_memory_bound(OpId::kAttentionKvSum, Kind::kSumPartials, others, kv_width(),
                                 passes, kSixteenBits);
    for (std::int64_t i = 0; i < cp; ++i) {
      backward_cp(CollectiveOp::kSendRecv, 2.0 * kv_bytes());
    }
  }

  const ExpansionContext& context_;
  LayerKind kind_;
  BlockBuilder& build_;
};

}  // namespace

void expand_attention(const ExpansionContext& context, LayerKind kind, BlockBuilder& build) {
  AttentionExpander(context, kind, build).expand();
}

}  // namespace stepcast
