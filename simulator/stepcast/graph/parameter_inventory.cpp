// SPDX-License-Identifier: Apache-2.0
#include "stepcast/graph/parameter_inventory.hpp"

#include <map>
#include <utility>

namespace stepcast {
namespace {

ParameterTensor norm(const ModelSpec& model, std::string_view name, std::int64_t width) {
  return {name, ParameterRole::kNorm, width * (model.norm_bias ? 2 : 1)};
}

// A column-parallel matrix: outputs are divided, and so is its bias.
ParameterTensor column(std::string_view name, ParameterRole role, std::int64_t inputs,
                       std::int64_t outputs, bool bias, std::int64_t parts) {
  return {name, role, inputs * outputs + (bias ? outputs : 0), 1, parts};
}

void add_row(ParameterList& list, std::string_view name, std::string_view bias_name,
             ParameterRole role, std::int64_t inputs, std::int64_t outputs, bool bias,
             std::int64_t parts) {
  list.push_back({name, role, inputs * outputs, 1, parts});
  if (bias) {
    list.push_back({bias_name, role, outputs});
  }
}

void add_qk_norm(ParameterList& list, const ModelSpec& model) {
  const AttentionSpec& a = model.attention;
  if (a.qk_norm == QkNorm::kHead) {
    list.push_back(norm(model, "q_norm", a.qk_head_dim));
    list.push_back(norm(model, "k_norm", a.qk_head_dim));
  } else if (a.qk_norm == QkNorm::kFull) {
    list.push_back(norm(model, "q_norm", a.heads * a.qk_head_dim));
    list.push_back(norm(model, "k_norm", a.kv_heads * a.qk_head_dim));
  }
}

void add_gqa(ParameterList& list, const ModelSpec& model) {
  const AttentionSpec& a = model.attention;
  constexpr auto kRole = ParameterRole::kAttention;
  const std::int64_t queries = a.heads * a.qk_head_dim;
  list.push_back(column("q", kRole, model.hidden, queries, a.qkv_bias, a.heads));
  list.push_back(
      column("k", kRole, model.hidden, a.kv_heads * a.qk_head_dim, a.qkv_bias, a.kv_heads));
  list.push_back(
      column("v", kRole, model.hidden, a.kv_heads * a.v_head_dim, a.qkv_bias, a.kv_heads));
  if (a.output_gate) {
    list.push_back(
        column("output_gate", kRole, model.hidden, a.heads * a.v_head_dim, false, a.heads));
  }
}

void add_mla(ParameterList& list, const ModelSpec& model) {
  const AttentionSpec& a = model.attention;
  const MlaSpec& m = a.mla;
  constexpr auto kRole = ParameterRole::kAttention;
  const std::int64_t queries = a.heads * a.qk_head_dim;
  if (m.q_lora_rank > 0) {
    list.push_back({"q_down", kRole, model.hidden * m.q_lora_rank});
    list.push_back(norm(model, "q_lora_norm", m.q_lora_rank));
    list.push_back(column("q_up", kRole, m.q_lora_rank, queries, false, a.heads));
  } else {
    list.push_back(column("q", kRole, model.hidden, queries, false, a.heads));
  }
  list.push_back({"kv_down", kRole, model.hidden * m.kv_lora_rank});
  list.push_back({"k_rope", kRole, model.hidden * m.qk_rope_head_dim});
  list.push_back(norm(model, "kv_lora_norm", m.kv_lora_rank));
  list.push_back(column("kv_up", kRole, m.kv_lora_rank,
                        a.heads * (m.qk_nope_head_dim + a.v_head_dim), false, a.heads));
}

void add_attention(ParameterList& list, const ModelSpec& model) {
  const AttentionSpec& a = model.attention;
  if (a.kind == AttentionKind::kMla) {
    add_mla(list, model);
  } else {
    add_gqa(list, model);
  }
  add_qk_norm(list, model);
  if (a.sinks) {
    list.push_back({"sinks", ParameterRole::kAttention, a.heads, 1, a.heads});
  }
  add_row(list, "o", "o_bias", ParameterRole::kAttention, a.heads * a.v_head_dim, model.hidden,
          a.output_bias, a.heads);
}

void add_mlp(ParameterList& list, const ModelSpec& model, const MlpSpec& mlp) {
  constexpr auto kRole = ParameterRole::kMlp;
  const std::int64_t width = mlp.ffn_hidden;
  if (mlp.gated) {
    list.push_back(column("gate", kRole, model.hidden, width, mlp.bias, width));
  }
  list.push_back(column("up", kRole, model.hidden, width, mlp.bias, width));
  add_row(list, "down", "down_bias", kRole, width, model.hidden, mlp.bias, width);
}

void add_experts(ParameterList& list, const ModelSpec& model, const MoeSpec& moe) {
  const std::int64_t width = moe.expert_ffn_hidden;
  MlpSpec expert{width, model.mlp.gated, moe.expert_bias};
  ParameterList one;
  add_mlp(one, model, expert);
  for (ParameterTensor& tensor : one) {
    tensor.role = ParameterRole::kExpert;
    tensor.instances = moe.experts;
    list.push_back(tensor);
  }
}

void add_moe(ParameterList& list, const ModelSpec& model, const MoeSpec& moe) {
  const std::int64_t router_bias = moe.router.linear_bias ? moe.experts : 0;
  list.push_back({"router", ParameterRole::kRouter, model.hidden * moe.experts + router_bias});
  if (moe.router.expert_bias) {
    list.push_back({"router_expert_bias", ParameterRole::kRouter, moe.experts});
  }
  add_experts(list, model, moe);
  if (moe.shared_expert_ffn_hidden > 0) {
    add_mlp(list, model, {moe.shared_expert_ffn_hidden, model.mlp.gated, moe.expert_bias});
    if (moe.shared_expert_gate) {
      list.push_back({"shared_expert_gate", ParameterRole::kMlp, model.hidden});
    }
  }
}

// Beside a column-parallel matrix A is divided by the rank.
void add_adapters(ParameterList& list, const ModelSpec& model, LayerKind kind,
                  const TrainedWeights& weights) {
  for (const AdaptedMatrix& matrix : adapted_matrices(model, kind, weights)) {
    const std::int64_t rank = weights.lora->rank;
    const std::int64_t parts = matrix.input_parts > 1 ? matrix.input_parts : rank;
    list.push_back({"adapter_a", matrix.role, rank * matrix.inputs, 1, parts, false, true});
    list.push_back(
        {"adapter_b", matrix.role, rank * matrix.outputs, 1, matrix.output_parts, false, true});
  }
}

ParameterList marked(ParameterList list, const TrainedWeights& weights) {
  for (ParameterTensor& tensor : list) {
    tensor.frozen = !weights.trains(tensor.role);
  }
  return list;
}

std::int64_t active_elements(const ModelSpec& model, const ParameterList& parameters) {
  std::int64_t sum = 0;
  for (const ParameterTensor& tensor : parameters) {
    const bool expert = tensor.role == ParameterRole::kExpert;
    sum += tensor.elements * (expert ? model.moe->experts_per_token : tensor.instances);
  }
  return sum;
}

}  // namespace

ParameterList layer_parameters(const ModelSpec& model, LayerKind kind,
                               const TrainedWeights& weights) {
  ParameterList list;
  for (std::int64_t i = 0; i < model.norms_per_layer; ++i) {
    list.push_back(norm(model, "layer_norm", model.hidden));
  }
  add_attention(list, model);
  if (kind.moe) {
    add_moe(list, model, *model.moe);
  } else {
    add_mlp(list, model, model.mlp);
  }
  list = marked(std::move(list), weights);
  add_adapters(list, model, kind, weights);
  return list;
}

ParameterList embedding_parameters(const ModelSpec& model, const TrainedWeights& weights) {
  ParameterList list = {{"embedding", ParameterRole::kEmbedding, model.vocabulary * model.hidden, 1,
                         model.vocabulary}};
  if (model.positions == Positions::kLearned) {
    list.push_back({"positions", ParameterRole::kEmbedding, model.max_positions * model.hidden});
  }
  return marked(std::move(list), weights);
}

ParameterList head_parameters(const ModelSpec& model, const TrainedWeights& weights) {
  ParameterList list = {norm(model, "final_norm", model.hidden)};
  if (!model.tied_embeddings) {
    list.push_back(
        {"head", ParameterRole::kHead, model.vocabulary * model.hidden, 1, model.vocabulary});
  }
  if (model.head_bias) {
    list.push_back({"head_bias", ParameterRole::kHead, model.vocabulary, 1, model.vocabulary});
  }
  return marked(std::move(list), weights);
}

ParameterList mtp_extra_parameters(const ModelSpec& model, const TrainedWeights& weights) {
  ParameterList list = {
      norm(model, "mtp_hidden_norm", model.hidden),
      norm(model, "mtp_embedding_norm", model.hidden),
      {"mtp_projection", ParameterRole::kMlp, 2 * model.hidden * model.hidden, 1, model.hidden},
      norm(model, "mtp_final_norm", model.hidden)};
  return marked(std::move(list), weights);
}

std::int64_t total_elements(const ParameterList& parameters) {
  std::int64_t sum = 0;
  for (const ParameterTensor& tensor : parameters) {
    sum += tensor.total();
  }
  return sum;
}

ParameterCounts count_parameters(const ModelSpec& model) {
  ParameterCounts counts;
  std::map<LayerKind, std::int64_t> kinds;
  for (std::int64_t i = 0; i < model.layers; ++i) {
    ++kinds[layer_kind(model, i)];
  }
  for (const auto& [kind, layers] : kinds) {
    const ParameterList parameters = layer_parameters(model, kind);
    counts.total += layers * total_elements(parameters);
    counts.active += layers * active_elements(model, parameters);
  }
  const ParameterList head = head_parameters(model);
  counts.embedding = total_elements(embedding_parameters(model));
  for (const ParameterTensor& tensor : head) {
    counts.head += tensor.role == ParameterRole::kHead ? tensor.total() : 0;
  }
  const std::int64_t ends = counts.embedding + total_elements(head);
  counts.total += ends;
  counts.active += ends;
  counts.mtp = model.mtp_layers * (total_elements(layer_parameters(model, mtp_layer_kind(model))) +
                                   total_elements(mtp_extra_parameters(model)));
  return counts;
}

namespace {

ParameterList trained_of(ParameterList parameters) {
  std::erase_if(parameters, [](const ParameterTensor& tensor) { return tensor.frozen; });
  return parameters;
}

std::int64_t adapter_elements(const ParameterList& parameters) {
  std::int64_t sum = 0;
  for (const ParameterTensor& tensor : parameters) {
    sum += tensor.adapter ? tensor.total() : 0;
  }
  return sum;
}

}  // namespace

TrainedCounts count_trained(const ModelSpec& model, const TrainedWeights& weights) {
  TrainedCounts counts;
  for (std::int64_t i = 0; i < model.layers; ++i) {
    const ParameterList trained =
        trained_of(layer_parameters(model, layer_kind(model, i), weights));
    counts.total += total_elements(trained);
    counts.active += active_elements(model, trained);
    counts.adapters += adapter_elements(trained);
  }
  const ParameterList head = trained_of(head_parameters(model, weights));
  const bool embedding = weights.trains(ParameterRole::kEmbedding);
  counts.total += total_elements(head);
  counts.total += embedding ? total_elements(embedding_parameters(model)) : 0;
  counts.active += total_elements(head);
  counts.active += embedding && model.tied_embeddings ? model.vocabulary * model.hidden : 0;
  return counts;
}

}  // namespace stepcast
