// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/mixer_expansion.hpp"

#include "stepcast/base/dtype.hpp"
#include "stepcast/layer/context_parallel.hpp"

namespace stepcast {
namespace {

using Kind = MemoryBoundKind;

constexpr Bytes kStatistic{4};
constexpr Bytes kScoreMask{1};

class AttentionExpander {
 public:
  AttentionExpander(const ExpansionContext& context, LayerKind kind, BlockBuilder& build)
      : context_(context), kind_(kind), heads_(heads_of(context.model, kind)), build_(build) {}

  void expand() {
    build_.begin(Block::kAttention);
    build_.enter_tensor_parallel(OpId::kAttentionTpIn);
    const Projected projected =
        model().attention.kind == AttentionKind::kMla ? mla_projections() : gqa_projections();
    qk_norm();
    attention_copies();
    repeat_heads();
    save_attention_inputs(projected);
    {
      const ModuleScope scope(build_, {RecomputeModule::kCoreAttention});
      core_attention();
      save_scores();
    }
    const std::int64_t width = queries() * heads().v_dim;
    build_.save(TensorId::kAttentionOutput, OpId::kAttentionCore, context_.tokens(), width,
                software().memory.attention_output);
    if (model().attention.output_gate) {
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
  [[nodiscard]] const AttentionHeads& heads() const { return heads_; }
  // Those of a rank of tensor parallelism; keys and values as the projections make them, and as
  // attention reads them.
  [[nodiscard]] std::int64_t queries() const { return local_heads(heads().query, plan().tp); }
  [[nodiscard]] std::int64_t own_kv() const { return local_heads(heads().kv, plan().tp); }
  [[nodiscard]] std::int64_t kv_heads() const {
    return masked_by_tensor() ? queries() : attention_kv_heads(heads(), software(), plan().tp);
  }
  // Whether some pair that a causal mask has is masked, and the software says so in a tensor,
  // beside which the kernel takes no shared heads.
  [[nodiscard]] bool masked_by_tensor() const {
    const std::int64_t sequence = context_.training.sequence_length;
    const bool windowed = kind_.window > 0 && kind_.window < sequence;
    const bool some = windowed || shortens(context_.training.documents, sequence);
    return software().masks_by_tensor && !software().keeps_documents_apart() && plan().cp == 1 &&
           some;
  }

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
    const std::int64_t q = queries() * heads().qk_dim;
    const std::int64_t k = own_kv() * heads().qk_dim;
    const std::int64_t v = own_kv() * heads().v_dim;
    // Where a norm follows the products, what they made is kept as the norm's input.
    const bool normed = a.qk_norm != QkNorm::kNone;
    {
      const bool latent = a.kind == AttentionKind::kMla;
      const ModuleScope scope(build_, latent ? ModuleSet{RecomputeModule::kMlaUp} : ModuleSet{});
      build_.save(TensorId::kAttentionQ, normed ? OpId::kAttentionQNorm : from.q, rows, q,
                  operand());
      build_.save(TensorId::kAttentionK, normed ? OpId::kAttentionKNorm : from.k, rows, k,
                  operand());
      const bool view = latent && software().memory.values_keep_projection;
      const std::int64_t beside = view ? queries() * a.mla.qk_nope_head_dim : 0;
      build_.save(TensorId::kAttentionV, from.v, rows, v + beside, operand());
    }
    if (software().memory.keeps_projected_qkv) {
      build_.save(TensorId::kAttentionProjectedQkv, from.whole, rows, q + k + v, kSixteenBits);
    }
    if (normed) {
      const ModuleScope scope(build_, of_norm_input());
      build_.save(TensorId::kAttentionQNormInput, from.q, rows, q, kSixteenBits);
      build_.save(TensorId::kAttentionKNormInput, from.k, rows, k, kSixteenBits);
    }
  }

  // Flash attention keeps one log-sum-exp a row; unfused attention keeps the probabilities and,
  // with dropout, its mask and what it let through.
  void save_scores() {
    const std::int64_t rows = context_.tokens() * queries();
    const auto save = [&](TensorId id, std::int64_t cols, Bytes element) {
      build_.save(id, OpId::kAttentionCore, rows, cols, element);
    };
    if (software().attention_kernel() != AttentionKernel::kUnfused) {
      save(TensorId::kAttentionLogSumExp, 1, kStatistic);
      return;
    }
    const std::int64_t keys = context_.training.sequence_length;
    // Outside a fused kernel, where a column of sinks keeps it too, the softmax leaves its result
    // in fp32 as well.
    const bool in_fp32 =
        model().attention.sinks || software().scores_over(keys) == Implementation::kEager;
    const Bytes probability = in_fp32 ? kSixteenBits + kStatistic : kSixteenBits;
    save(TensorId::kAttentionProbabilities, keys, probability);
    if (context_.training.dropout) {
      save(TensorId::kAttentionScoreMask, keys, kScoreMask);
      save(TensorId::kAttentionDroppedProbabilities, keys, kSixteenBits);
    }
  }

  Projected gqa_projections() {
    const AttentionSpec& a = model().attention;
    const std::int64_t rows = context_.tokens();
    const std::int64_t q = queries() * heads().qk_dim;
    const std::int64_t k = own_kv() * heads().qk_dim;
    const std::int64_t v = own_kv() * heads().v_dim;
    using enum LoraTarget;
    build_.gradient_sum(OpId::kAttentionGradientSum, rows,
                        (software().fused_qkv ? 1 : 3) + (a.output_gate ? 1 : 0) +
                            build_.adapters({kQkv, kQ, kK, kV}),
                        software().norm);
    query_key_value(rows, q, k, v);
    const bool turned_by_norm = software().rope_in_qk_norm && a.qk_norm != QkNorm::kNone;
    if (model().positions == Positions::kRope && !turned_by_norm) {
      const std::int64_t turned =
          a.rope_head_dim > 0 ? (q + k) / heads().qk_dim * a.rope_head_dim : q + k;
      build_.memory_bound(OpId::kAttentionRope, rope_kind(), rows, turned, software().rope);
    }
    constexpr OpId kOne = OpId::kAttentionQkv;
    return software().fused_qkv ? Projected{kOne, kOne, kOne, kOne} : Projected{};
  }

  [[nodiscard]] ModuleSet of_norm_input() const {
    return model().attention.qk_norm == QkNorm::kNone ? ModuleSet{}
                                                      : ModuleSet{RecomputeModule::kQkNorm};
  }

  // The products that read one tensor, and their adapters.
  void query_key_value(std::int64_t rows, std::int64_t q, std::int64_t k, std::int64_t v) {
    const BlockBuilder::SharedInput beside(build_);
    {
      const ModuleScope scope(build_, of_norm_input());
      if (software().fused_qkv) {
        build_.projection(OpId::kAttentionQkv, rows, q + k + v, hidden());
      } else {
        build_.projection(OpId::kAttentionQ, rows, q, hidden());
        build_.projection(OpId::kAttentionK, rows, k, hidden());
      }
    }
    if (!software().fused_qkv) {
      build_.projection(OpId::kAttentionV, rows, v, hidden());
    }
    if (model().attention.output_gate) {
      build_.projection(OpId::kAttentionGate, rows, queries() * heads().v_dim, hidden());
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
    const MlaSpec& m = model().attention.mla;
    const std::int64_t rows = context_.tokens();
    const bool k_rope_apart = software().mla_k_rope == RopeKeyProduct::kOwn;
    build_.gradient_sum(OpId::kAttentionGradientSum, rows,
                        (k_rope_apart ? 3 : 2) + (model().attention.output_gate ? 1 : 0),
                        software().norm);
    gate_beside(queries() * heads().v_dim);
    if (m.q_lora_rank > 0) {
      build_.projection(OpId::kAttentionQDown, rows, m.q_lora_rank, hidden());
      build_.memory_bound(OpId::kAttentionQLoraNorm, Kind::kNorm, rows, m.q_lora_rank,
                          software().norm);
    }
    const std::int64_t q_inputs = m.q_lora_rank > 0 ? m.q_lora_rank : hidden();
    const OpId q = m.q_lora_rank > 0 ? OpId::kAttentionQUp : OpId::kAttentionQ;
    {
      const ModuleScope scope(build_, {RecomputeModule::kMlaUp});
      build_.projection(q, rows, queries() * heads().qk_dim, q_inputs);
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
    build_.projection(OpId::kAttentionKvUp, rows, queries() * (m.qk_nope_head_dim + heads().v_dim),
                      m.kv_lora_rank);
    if (model().positions == Positions::kRope) {
      build_.memory_bound(OpId::kAttentionRope,
                          is_complex() ? Kind::kComplexRopeParts : Kind::kRope, rows,
                          queries() * m.qk_rope_head_dim + m.qk_rope_head_dim, software().rope);
    }
    assemble_heads(rows, queries() * heads().qk_dim);
    return {q, OpId::kAttentionKvUp, OpId::kAttentionKvUp, OpId::kAttentionKvUp};
  }

  [[nodiscard]] Kind rope_kind() const {
    if (is_complex()) {
      return Kind::kComplexRope;
    }
    const RopeForm form = software().rope_form;
    if (form == RopeForm::kRotateHalf && software().rope == Implementation::kEager) {
      return context_.in_autocast() ? Kind::kRotateHalfFp32 : Kind::kRotateHalf;
    }
    if (form == RopeForm::kCastRotateHalf && software().rope == Implementation::kEager) {
      return Kind::kCastRotateHalf;
    }
    return Kind::kRope;
  }
  [[nodiscard]] bool is_complex() const { return software().rope_form == RopeForm::kComplex; }

  // Keys are assembled from their two parts for every head; so are queries, unless the kernel that
  // rotates them works in place.
  void assemble_heads(std::int64_t rows, std::int64_t width) {
    if (software().rope == Implementation::kEager || is_complex()) {
      build_.memory_bound(OpId::kAttentionQConcat, Kind::kJoin, rows, width, software().rope);
    }
    build_.memory_bound(OpId::kAttentionKConcat, Kind::kJoin, rows, width, software().rope);
  }

  void qk_norm() {
    const AttentionSpec& a = model().attention;
    if (a.qk_norm == QkNorm::kNone) {
      return;
    }
    const std::int64_t width = queries() * heads().qk_dim;
    const std::int64_t kv_width = own_kv() * heads().qk_dim;
    build_.memory_bound(OpId::kAttentionQNorm, Kind::kNorm, context_.tokens(), width,
                        software().norm);
    build_.memory_bound(OpId::kAttentionKNorm, Kind::kNorm, context_.tokens(), kv_width,
                        software().norm);
  }

  void repeat_heads() {
    const std::int64_t own = own_kv();
    if (kv_heads() == own) {
      return;
    }
    const std::int64_t head = heads().qk_dim + heads().v_dim;
    build_.memory_bound(OpId::kAttentionRepeat, Kind::kRepeatHeads, context_.tokens(),
                        kv_heads() * head, software().rope);
    build_.save_result(TensorId::kAttentionRepeatedKv, context_.tokens(), (kv_heads() - own) * head,
                       operand());
  }

  // True and false of all pairs become what is added to their scores, for each layer anew.
  void mask_scores(Attention& op) {
    op.mask_tensor = true;
    op.causal = false;
    op.window = 0;
    build_.forward_memory_bound(OpId::kAttentionMask, Kind::kQuantize, op.batch * op.seq_q,
                                op.seq_kv, Implementation::kFused, kSixteenBits);
    build_.save(TensorId::kAttentionMask, OpId::kAttentionMask, op.batch * op.seq_q, op.seq_kv,
                kSixteenBits);
  }

  void attention_copies() {
    const std::int64_t width =
        queries() * heads().qk_dim + own_kv() * (heads().qk_dim + heads().v_dim);
    for (std::int64_t i = 0; i < software().attention_copies; ++i) {
      build_.memory_bound(OpId::kAttentionCopy, Kind::kStridedCopy, context_.tokens(), width,
                          Implementation::kEager);
    }
  }

  void core_attention() {
    const AttentionSpec& a = model().attention;
    Attention op;
    op.batch = context_.training.micro_batch_size;
    op.seq_q = op.seq_kv = context_.training.sequence_length;
    op.heads = queries();
    op.kv_heads = kv_heads();
    op.d_qk = heads().qk_dim;
    op.d_v = heads().v_dim;
    op.window = kind_.window;
    op.kernel = software().attention_kernel();
    op.scores = software().scores_over(op.seq_kv);
    op.sinks = a.sinks;
    op.dropout = context_.training.dropout;
    if (in_8bit()) {
      op.dtype = software().attention_block_scaled ? Dtype::kFp8Block : Dtype::kFp8;
    }
    if (software().keeps_documents_apart()) {
      op.documents = context_.training.documents;
    }
    if (masked_by_tensor()) {
      mask_scores(op);
    }
    quantize_operands();
    if (plan().cp > 1) {
      expand_context_parallel(context_, op, build_);
    } else {
      build_.mixing(OpId::kAttentionCore, op);
    }
  }

  [[nodiscard]] bool in_8bit() const {
    return software().attends_in_8_bits(context_.training.dtype);
  }
  [[nodiscard]] Bytes operand() const { return in_8bit() ? Bytes(1) : kSixteenBits; }

  // Queries, keys and values forward, the gradient of the output backward.
  void quantize_operands() {
    if (!in_8bit()) {
      return;
    }
    const std::int64_t output = queries() * heads().v_dim;
    const std::int64_t inputs =
        queries() * heads().qk_dim + kv_heads() * (heads().qk_dim + heads().v_dim);
    build_.forward_memory_bound(OpId::kQuantize, Kind::kQuantize, context_.tokens(), inputs,
                                Implementation::kFused, kSixteenBits);
    build_.backward_memory_bound(OpId::kQuantize, Kind::kQuantize, context_.tokens(), output,
                                 Implementation::kFused, kSixteenBits);
  }

  const ExpansionContext& context_;
  LayerKind kind_;
  AttentionHeads heads_;
  BlockBuilder& build_;
};

}  // namespace

void expand_attention(const ExpansionContext& context, LayerKind kind, BlockBuilder& build) {
  AttentionExpander(context, kind, build).expand();
}

}  // namespace stepcast
