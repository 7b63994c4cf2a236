// SPDX-License-Identifier: Apache-2.0
#include "stepcast/parallel/activation_inventory.hpp"

#include <algorithm>

#include "stepcast/parallel/dispatcher_model.hpp"
#include "stepcast/parallel/recompute_choice.hpp"
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
    keep("layer_input", {}, sequence_rows(), hidden(), kHalf);
    norm_output("attention.norm_output", OpId::kAttentionNorm);
    attention();
    dropout_mask("attention.dropout_mask", OpId::kAttentionResidual);
    keep("mlp.input", OpId::kAttentionO, sequence_rows(), hidden(), kHalf);
    if (!model().parallel_blocks) {
      norm_output("mlp.norm_output", OpId::kMlpNorm);
    }
    if (kind_.moe) {
      experts();
    } else if (!recomputes(RecomputeModule::kMlp)) {
      feed_forward(Block::kDense, rows(), model().mlp.ffn_hidden / context_.plan.tp);
    }
    dropout_mask("mlp.dropout_mask", OpId::kMlpResidual);
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

  void keep(std::string_view name, std::optional<OpId> producer, std::int64_t rows,
            std::int64_t cols, Bytes element) {
    const Bytes bytes = static_cast<double>(rows) * static_cast<double>(cols) * element;
    tensors_.push_back({name, producer, bytes});
  }

  void norm_output(std::string_view name, std::optional<OpId> producer) {
    if (!context_.software.keeps_norm_output || recomputes(RecomputeModule::kLayerNorm)) {
      return;
    }
    const bool gathered = context_.software.keeps_gathered_norm_output;
    keep(name, producer, gathered ? rows() : sequence_rows(), hidden(), operand());
  }

  void dropout_mask(std::string_view name, std::optional<OpId> producer) {
    if (context_.training.dropout) {
      keep(name, producer, sequence_rows(), hidden(), kMask);
    }
  }

  // The product that q, k or v comes from.
  [[nodiscard]] OpId projection(OpId own, OpId mla) const {
    if (model().attention.kind == AttentionKind::kMla) {
      return mla;
    }
    return context_.software.fused_qkv ? OpId::kAttentionQkv : own;
  }

  void attention() {
    const AttentionSpec& a = model().attention;
    const bool mla = a.kind == AttentionKind::kMla;
    if (mla) {
      const std::int64_t q_rank = a.mla.q_lora_rank;
      keep("attention.latents", OpId::kAttentionKvDown, rows(),
           2 * (q_rank + a.mla.kv_lora_rank) + a.mla.qk_rope_head_dim, kHalf);
    }
    const std::int64_t q_width = local(a.heads) * a.qk_head_dim;
    const std::int64_t k_width = local(a.kv_heads) * a.qk_head_dim;
    const std::int64_t v_width = local(a.kv_heads) * a.v_head_dim;
    if (!(mla && recomputes(RecomputeModule::kMlaUp))) {
      keep("attention.q", projection(OpId::kAttentionQ, OpId::kAttentionQUp), rows(), q_width,
           kHalf);
      keep("attention.k", projection(OpId::kAttentionK, OpId::kAttentionKvUp), rows(), k_width,
           kHalf);
      keep("attention.v", projection(OpId::kAttentionV, OpId::kAttentionKvUp), rows(), v_width,
           kHalf);
    }
    if (context_.software.memory.keeps_projected_qkv) {
      keep("attention.projected_qkv", projection(OpId::kAttentionQ, OpId::kAttentionKvUp), rows(),
           q_width + k_width + v_width, kHalf);
    }
    if (a.qk_norm != QkNorm::kNone) {
      keep("attention.qk_norm_input", projection(OpId::kAttentionQ, OpId::kAttentionQUp), rows(),
           q_width + k_width, kHalf);
    }
    scores();
    keep("attention.output", OpId::kAttentionCore, rows(), local(a.heads) * a.v_head_dim, kHalf);
  }

  // Flash attention keeps one log-sum-exp a row; unfused attention keeps the probabilities and,
  // with dropout, its mask and what it let through.
  void scores() {
    if (recomputes(RecomputeModule::kCoreAttention)) {
      return;
    }
    const std::int64_t score_rows = rows() * local(model().attention.heads);
    if (context_.software.attention != AttentionKernel::kUnfused) {
      keep("attention.log_sum_exp", OpId::kAttentionCore, score_rows, 1, kFloat);
      return;
    }
    const std::int64_t keys = context_.training.sequence_length;
    keep("attention.probabilities", OpId::kAttentionCore, score_rows, keys, kHalf);
    if (context_.training.dropout) {
      keep("attention.score_mask", OpId::kAttentionCore, score_rows, keys, kMask);
      keep("attention.dropped_probabilities", OpId::kAttentionCore, score_rows, keys, kHalf);
    }
  }

  // Of `block`: the routed experts, or what stands for one.
  void feed_forward(Block block, std::int64_t rows_in, std::int64_t width) {
    activation_input(block, rows_in, width);
    const bool experts = block == Block::kRoutedExperts;
    const bool again = recomputes(RecomputeModule::kMlpActivation) ||
                       (experts && recomputes(RecomputeModule::kMoeActivation));
    if (again) {
      return;
    }
    const OpId producer = experts ? OpId::kExpertsActivation : OpId::kMlpActivation;
    // Eager kernels keep the activated gate apart from its product with the other input.
    if (model().mlp.gated && context_.software.activation == Implementation::kEager) {
      keep("mlp.activated_gate", producer, rows_in, width, kHalf);
    }
    if (context_.software.keeps_activation_product) {
      keep("mlp.activation_output", producer, rows_in, width, operand());
    }
  }

  void activation_input(Block block, std::int64_t rows_in, std::int64_t width) {
    const bool experts = block == Block::kRoutedExperts;
    if (!model().mlp.gated) {
      return keep("mlp.activation_input", experts ? OpId::kExpertsUp : OpId::kMlpUp, rows_in, width,
                  kHalf);
    }
    if (context_.software.fused_gate_up) {
      return keep("mlp.activation_input", experts ? OpId::kExpertsGateUp : OpId::kMlpGateUp,
                  rows_in, 2 * width, kHalf);
    }
    keep("mlp.gate", experts ? OpId::kExpertsGate : OpId::kMlpGate, rows_in, width, kHalf);
    keep("mlp.up", experts ? OpId::kExpertsUp : OpId::kMlpUp, rows_in, width, kHalf);
  }

  void experts() {
    if (recomputes(RecomputeModule::kMoe)) {
      return;
    }
    const MoeSpec& moe = *model().moe;
    keep("moe.router_scores", OpId::kMoeRouter, sequence_rows(), moe.experts, kFloat);
    routed_experts(moe.expert_ffn_hidden / context_.plan.etp);
    if (context_.software.memory.keeps_expert_casts) {
      const LocalParameters layer =
          local_parameters(layer_parameters(model(), kind_), context_.plan);
      tensors_.push_back({"experts.weight_casts", {}, layer.expert * kHalf});
    }
    if (moe.shared_expert_ffn_hidden > 0 && !recomputes(RecomputeModule::kSharedExperts)) {
      feed_forward(Block::kSharedExpert, rows(), moe.shared_expert_ffn_hidden / context_.plan.tp);
    }
  }

  // The dispatcher says which rows are kept: see DispatcherModel.
  void routed_experts(std::int64_t width) {
    const DispatcherModel& model = model_of(dispatcher_in_use(context_.plan));
    const LayerExchange exchange = layer_exchange(context_);
    if (const std::int64_t rows = model.kept_inputs(exchange); rows > 0) {
      keep("experts.input", OpId::kMoeDispatch, rows, hidden(),
           model.gathers_in_product ? kHalf : operand());
    }
    if (model.gathers_in_product) {
      activation_input(Block::kRoutedExperts, exchange.rows, width);
    } else {
      feed_forward(Block::kRoutedExperts, exchange.rows, width);
    }
    if (const std::int64_t rows = model.kept_results(exchange); rows > 0) {
      keep("moe.combined_rows", OpId::kMoeCombine, rows, hidden(), kHalf);
    }
  }

  const ExpansionContext& context_;
  LayerKind kind_;
  std::vector<SavedTensor> tensors_;
};

}  // namespace

std::vector<SavedTensor> all_tensors(const ExpansionContext& context, LayerKind kind) {
  TrainingRecipe training = context.training;
  training.recompute = {};
  const ExpansionContext whole{context.model, context.plan, training, context.software};
  return Inventory(whole, kind).collect();
}

std::vector<SavedTensor> saved_tensors(const ExpansionContext& context, LayerKind kind) {
  return chooses_tensors(context.training.recompute) ? chosen_tensors(context, kind)
                                                     : Inventory(context, kind).collect();
}

Bytes total(const std::vector<SavedTensor>& tensors) {
  Bytes sum;
  for (const SavedTensor& tensor : tensors) {
    sum += tensor.bytes;
  }
  return sum;
}

Bytes saved_activations(const ExpansionContext& context, LayerKind kind) {
  return total(saved_tensors(context, kind));
}

Bytes rerun_activations(const ExpansionContext& context, LayerKind kind) {
  return max(total(all_tensors(context, kind)) - saved_activations(context, kind), Bytes{});
}

Bytes layer_input(const ExpansionContext& context) {
  return static_cast<double>(context.sequence_tokens() * context.model.hidden) * kHalf;
}

Bytes backward_workspace(const ExpansionContext& context, LayerKind kind) {
  const ModelSpec& model = context.model;
  std::int64_t rows = context.tokens();
  std::int64_t width = model.mlp.ffn_hidden / context.plan.tp;
  if (kind.moe) {
    rows = buffer_rows(context);
    width = model.moe->expert_ffn_hidden / context.plan.etp;
  }
  const std::int64_t inner = (model.mlp.gated ? 3 : 2) * width;
  return static_cast<double>(rows * (inner + 2 * model.hidden)) * kHalf;
}

}  // namespace stepcast
