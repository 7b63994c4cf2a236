// SPDX-License-Identifier: Apache-2.0
#include "stepcast/model/parameter_inventory.hpp"

#include <map>
#include <utility>

#include "stepcast/base/sum.hpp"

namespace stepcast {
namespace {

struct FeedForwardBlock {
  std::int64_t width = 0;
  bool gated = true;
  bool bias = false;
};

void add_mlp(ParameterList& list, std::int64_t hidden, const FeedForwardBlock& mlp) {
  constexpr auto kRole = ParameterRole::kMlp;
  const std::int64_t width = mlp.width;
  const StackedMatrix stacked = mlp.gated ? StackedMatrix::kGateUp : StackedMatrix::kNone;
  if (mlp.gated) {
    list.push_back(column_tensor("gate", kRole, hidden, width, Bias{mlp.bias}, width, stacked));
  }
  list.push_back(column_tensor("up", kRole, hidden, width, Bias{mlp.bias}, width, stacked));
  add_row_tensor(list, "down", "down_bias", kRole, width, hidden, Bias{mlp.bias}, width);
}

void add_experts(ParameterList& list, const ModelSpec& model, const MoeSpec& moe) {
  const std::int64_t width = moe.expert_ffn_hidden;
  const FeedForwardBlock expert{width, model.mlp.gated, moe.expert_bias};
  ParameterList one;
  add_mlp(one, moe.latent_hidden > 0 ? moe.latent_hidden : model.hidden, expert);
  for (ParameterTensor& tensor : one) {
    tensor.role = ParameterRole::kExpert;
    tensor.instances = moe.experts;
    list.push_back(tensor);
  }
}

// Half of them around each block, so that a block that a layer lacks takes its own along.
std::int64_t norms_of_layer(const ModelSpec& model, LayerKind kind) {
  const std::int64_t blocks =
      (kind.mixer == Mixer::kNone ? 0 : 1) + (feeds_forward(model, kind) ? 1 : 0);
  return blocks == 2 ? model.norms_per_layer : blocks * (model.norms_per_layer / 2);
}

void add_moe(ParameterList& list, const ModelSpec& model, const MoeSpec& moe) {
  list.push_back(whole_tensor("router", ParameterRole::kRouter, model.hidden, moe.experts));
  list.back().elements += moe.router.linear_bias ? moe.experts : 0;
  if (moe.router.expert_bias) {
    list.push_back({"router_expert_bias", ParameterRole::kRouter, moe.experts});
  }
  if (const std::int64_t latent = moe.latent_hidden; latent > 0) {
    list.push_back(whole_tensor("latent_down", ParameterRole::kMlp, model.hidden, latent));
    list.push_back(norm_tensor(model, "latent_norm", latent));
    list.push_back(whole_tensor("latent_up", ParameterRole::kMlp, latent, model.hidden));
  }
  add_experts(list, model, moe);
  if (moe.shared_expert_ffn_hidden > 0) {
    add_mlp(list, model.hidden, {moe.shared_expert_ffn_hidden, model.mlp.gated, moe.expert_bias});
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
    list.back().matrix = {matrix.inputs, rank,
                          matrix.input_parts > 1 ? DividedBy::kInputs : DividedBy::kOutputs};
    list.push_back(
        {"adapter_b", matrix.role, rank * matrix.outputs, 1, matrix.output_parts, false, true});
    list.back().matrix = {rank, matrix.outputs};
  }
}

// Without tensors that hold nothing: norms that have no weights are none.
ParameterList marked(ParameterList list, const TrainedWeights& weights) {
  std::erase_if(list, [](const ParameterTensor& tensor) { return tensor.elements == 0; });
  for (ParameterTensor& tensor : list) {
    tensor.frozen = !weights.trains(tensor.role);
    tensor.packed =
        tensor.matrix.outputs > 0 && weights.base_weights(tensor.role) != BaseWeights::kAsOthers;
  }
  return list;
}

std::int64_t active_elements(const ModelSpec& model, const ParameterList& parameters) {
  return sum_over(parameters, [&model](const ParameterTensor& tensor) {
    const bool expert = tensor.role == ParameterRole::kExpert;
    return tensor.elements * (expert ? model.moe->experts_per_token : tensor.instances);
  });
}

}  // namespace

ParameterList layer_parameters(const ModelSpec& model, LayerKind kind,
                               const TrainedWeights& weights) {
  ParameterList list;
  for (std::int64_t i = 0; i < norms_of_layer(model, kind); ++i) {
    list.push_back(norm_tensor(model, "layer_norm", model.hidden));
  }
  add_mixer_tensors(list, model, kind);
  if (kind.moe) {
    add_moe(list, model, *model.moe);
  } else if (feeds_forward(model, kind)) {
    add_mlp(list, model.hidden, {ffn_hidden_of(model, kind), model.mlp.gated, model.mlp.bias});
  }
  add_residual_tensors(list, model, kind);
  list = marked(std::move(list), weights);
  add_adapters(list, model, kind, weights);
  return list;
}

ParameterList embedding_parameters(const ModelSpec& model, const TrainedWeights& weights) {
  constexpr auto kRole = ParameterRole::kEmbedding;
  ParameterList list = {column_tensor("embedding", kRole, model.hidden, model.vocabulary,
                                      Bias::kNone, model.vocabulary)};
  if (model.positions == Positions::kLearned) {
    list.push_back(whole_tensor("positions", kRole, model.hidden, model.max_positions));
  }
  if (model.embedding_norm) {
    list.push_back(norm_tensor(model, "embedding_norm", model.hidden));
  }
  return marked(std::move(list), weights);
}

ParameterList head_parameters(const ModelSpec& model, const TrainedWeights& weights) {
  ParameterList list = {norm_tensor(model, "final_norm", model.hidden)};
  if (!model.tied_embeddings) {
    list.push_back(column_tensor("head", ParameterRole::kHead, model.hidden, model.vocabulary,
                                 Bias::kNone, model.vocabulary));
  }
  if (model.head_bias) {
    list.push_back({"head_bias", ParameterRole::kHead, model.vocabulary, 1, model.vocabulary});
  }
  add_head_residual_tensors(list, model);
  return marked(std::move(list), weights);
}

ParameterList mtp_extra_parameters(const ModelSpec& model, const TrainedWeights& weights) {
  ParameterList list = {norm_tensor(model, "mtp_hidden_norm", model.hidden),
                        norm_tensor(model, "mtp_embedding_norm", model.hidden),
                        column_tensor("mtp_projection", ParameterRole::kMlp, 2 * model.hidden,
                                      model.hidden, Bias::kNone, model.hidden),
                        norm_tensor(model, "mtp_final_norm", model.hidden)};
  if (model.residual_streams > 1) {
    add_head_residual_tensors(list, model);
  }
  return marked(std::move(list), weights);
}

std::int64_t total_elements(const ParameterList& parameters) {
  return sum_over(parameters, &ParameterTensor::total);
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
  return sum_over(parameters, [](const ParameterTensor& tensor) {
    return tensor.adapter ? tensor.total() : 0;
  });
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
