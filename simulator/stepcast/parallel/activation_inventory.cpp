// SPDX-License-Identifier: Apache-2.0
#include "stepcast/parallel/activation_inventory.hpp"

#include <algorithm>

#include "stepcast/parallel/exchange_buffers.hpp"
#include "stepcast/parallel/sharding.hpp"

namespace stepcast {
namespace {

constexpr Bytes kHalf{2};  // 16-bit tensors
constexpr Bytes kFloat{4};
constexpr Bytes kMask{1};

class Inventory {
 public:
  Inventory(const ExpansionContext& context, LayerKind kind) : context_(context), kind_(kind) {}

  std::vector<SavedTensor> collect() {
    keep("layer_input", sequence_rows(), hidden(), kHalf);
    norm_output("attention.norm_output");
    attention();
    dropout_mask("attention.dropout_mask");
    keep("mlp.input", sequence_rows(), hidden(), kHalf);
    if (!model().parallel_blocks) {
      norm_output("mlp.norm_output");
    }
    if (kind_.moe) {
      experts();
    } else if (!recomputes(RecomputeModule::kMlp)) {
      feed_forward(rows(), model().mlp.ffn_hidden / context_.plan.tp);
    }
    dropout_mask("mlp.dropout_mask");
    return std::move(tensors_);
  }

 private:
  [[nodiscard]] const ModelSpec& model() const { return context_.model; }
  [[nodiscard]] std::int64_t rows() const { return context_.tokens(); }
  [[nodiscard]] std::int64_t sequence_rows() const { return context_.sequence_tokens(); }
  [[nodiscard]] std::int64_t hidden() const { return context_.model.hidden; }
  [[nodiscard]] std::int64_t local(std::int64_t heads) const {
    return std::max<std::int64_t>(1, heads / context_.plan.tp);
  }
  [[nodiscard]] bool recomputes(RecomputeModule module) const {
    return context_.training.recompute.recomputes(module);
  }
  // Inputs of fp8 products are kept in 8 bits.
  [[nodiscard]] Bytes operand() const {
    return is_quantized(context_.training.dtype) ? Bytes(1) : kHalf;
  }

  void keep(std::string_view name, std::int64_t rows, std::int64_t cols, Bytes element) {
    tensors_.push_back({name, static_cast<double>(rows) * static_cast<double>(cols) * element});
  }

  void norm_output(std::string_view name) {
    if (!context_.software.keeps_norm_output || recomputes(RecomputeModule::kLayerNorm)) {
      return;
    }
    const bool gathered = context_.software.keeps_gathered_norm_output;
    keep(name, gathered ? rows() : sequence_rows(), hidden(), operand());
  }

  void dropout_mask(std::string_view name) {
    if (context_.training.dropout) {
      keep(name, sequence_rows(), hidden(), kMask);
    }
  }

  void attention() {
    const AttentionSpec& a = model().attention;
    if (a.kind == AttentionKind::kMla) {
      const std::int64_t q_rank = a.mla.q_lora_rank;
      keep("attention.latents", rows(), 2 * (q_rank + a.mla.kv_lora_rank) + a.mla.qk_rope_head_dim,
           kHalf);
    }
    const bool recomputes_up = a.kind == AttentionKind::kMla && recomputes(RecomputeModule::kMlaUp);
    if (!recomputes_up) {
      keep("attention.q", rows(), local(a.heads) * a.qk_head_dim, kHalf);
      keep("attention.k", rows(), local(a.kv_heads) * a.qk_head_dim, kHalf);
      keep("attention.v", rows(), local(a.kv_heads) * a.v_head_dim, kHalf);
    }
    if (a.qk_norm != QkNorm::kNone) {
      keep("attention.qk_norm_input", rows(), (local(a.heads) + local(a.kv_heads)) * a.qk_head_dim,
           kHalf);
    }
    scores();
    keep("attention.output", rows(), local(a.heads) * a.v_head_dim, kHalf);
  }

  // Flash attention keeps one log-sum-exp a row; unfused attention keeps the probabilities and,
  // with dropout, its mask and what it let through.
  void scores() {
    if (recomputes(RecomputeModule::kCoreAttention)) {
      return;
    }
    const std::int64_t score_rows = rows() * local(model().attention.heads);
    if (context_.software.attention != AttentionKernel::kUnfused) {
      keep("attention.log_sum_exp", score_rows, 1, kFloat);
      return;
    }
    const std::int64_t keys = context_.training.sequence_length;
    keep("attention.probabilities", score_rows, keys, kHalf);
    if (context_.training.dropout) {
      keep("attention.score_mask", score_rows, keys, kMask);
      keep("attention.dropped_probabilities", score_rows, keys, kHalf);
    }
  }

  void feed_forward(std::int64_t rows_in, std::int64_t width) {
    activation_input(rows_in, width);
    if (context_.software.keeps_activation_product &&
        !recomputes(RecomputeModule::kMlpActivation)) {
      keep("mlp.activation_output", rows_in, width, operand());
    }
  }

  void activation_input(std::int64_t rows_in, std::int64_t width) {
    keep("mlp.activation_input", rows_in, (model().mlp.gated ? 2 : 1) * width, kHalf);
  }

  void experts() {
    if (recomputes(RecomputeModule::kMoe)) {
      return;
    }
    const MoeSpec& moe = *model().moe;
    keep("moe.router_scores", sequence_rows(), moe.experts, kFloat);
    routed_experts(moe.expert_ffn_hidden / context_.plan.etp);
    if (moe.shared_expert_ffn_hidden > 0) {
      feed_forward(rows(), moe.shared_expert_ffn_hidden / context_.plan.tp);
    }
  }

  // A token's k rows come back one by one, and are kept for the gradient of their weights, or are
  // summed where the experts are: then the weights are applied there, and their gradient follows
  // from what the activation keeps.
  void routed_experts(std::int64_t width) {
    const ExchangeShape shape = exchange_shape(context_);
    const std::int64_t rows = buffer_rows(context_);
    switch (dispatcher_in_use(context_.plan)) {
      case Dispatcher::kAllToAll:
        keep("experts.input", rows, hidden(), operand());
        feed_forward(rows, width);
        keep("moe.combined_rows", sent_rows(context_.plan.exchange, shape), hidden(), kHalf);
        return;
      case Dispatcher::kAllGather:
      case Dispatcher::kDeepEp:
      case Dispatcher::kDeepEpV2:
      case Dispatcher::kHybridEp:
      case Dispatcher::kDeepEpLowLatency:
        keep("experts.input", rows, hidden(), operand());
        return feed_forward(rows, width);
      case Dispatcher::kSonic:
        // The first product gathers its rows from what arrived; the second one's input is computed
        // again.
        keep("experts.input", sonic_saved_rows(context_.plan.exchange, shape, rows), hidden(),
             kHalf);
        return activation_input(rows, width);
      case Dispatcher::kMinimalAsyncEp:
        // The experts' input stays in the receive buffer, which is none of the activations.
        feed_forward(rows, width);
        keep("moe.combined_rows", shape.tokens * shape.topk, hidden(), kHalf);
        return;
    }
  }

  const ExpansionContext& context_;
  LayerKind kind_;
  std::vector<SavedTensor> tensors_;
};

}  // namespace

std::vector<SavedTensor> saved_tensors(const ExpansionContext& context, LayerKind kind) {
  return Inventory(context, kind).collect();
}

Bytes saved_activations(const ExpansionContext& context, LayerKind kind) {
  Bytes sum;
  for (const SavedTensor& tensor : saved_tensors(context, kind)) {
    sum += tensor.bytes;
  }
  return sum;
}

Bytes layer_input(const ExpansionContext& context) {
  return static_cast<double>(context.sequence_tokens() * context.model.hidden) * kHalf;
}

Bytes saved_by_loss(const ExpansionContext& context) {
  // 16-bit logits and their gradient; in eager mode two fp32 copies as well.
  const bool eager = context.software.cross_entropy == Implementation::kEager;
  const Bytes per_logit = eager ? Bytes(12) : Bytes(4);
  const auto logits = static_cast<double>(
      context.tokens() * local_vocabulary(context.model, context.plan, context.software));
  return logits * per_logit + 2.0 * layer_input(context);
}

}  // namespace stepcast
