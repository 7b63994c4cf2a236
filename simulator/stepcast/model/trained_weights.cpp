// SPDX-License-Identifier: Apache-2.0
#include "stepcast/model/trained_weights.hpp"

#include <algorithm>

namespace stepcast {
namespace {

// The width of the feed-forward that is not one of routed experts; 0 if a layer has none.
std::int64_t feed_forward_width(const ModelSpec& model, LayerKind kind) {
  return kind.moe ? model.moe->shared_expert_ffn_hidden : ffn_hidden_of(model, kind);
}

AdaptedMatrix adapted(const ModelSpec& model, LayerKind kind, LoraTarget target) {
  const AttentionHeads a = heads_of(model, kind);
  const std::int64_t q = a.query * a.qk_dim;
  const std::int64_t k = a.kv * a.qk_dim;
  const std::int64_t v = a.kv * a.v_dim;
  const std::int64_t width = feed_forward_width(model, kind);
  const std::int64_t joined = (model.mlp.gated ? 2 : 1) * width;
  using enum ParameterRole;
  switch (target) {
    case LoraTarget::kQkv:
      return {target, kAttention, model.hidden, q + k + v, 1, a.kv};
    case LoraTarget::kQ:
      return {target, kAttention, model.hidden, q, 1, a.query};
    case LoraTarget::kK:
      return {target, kAttention, model.hidden, k, 1, a.kv};
    case LoraTarget::kV:
      return {target, kAttention, model.hidden, v, 1, a.kv};
    case LoraTarget::kO:
      return {target, kAttention, a.query * a.v_dim, model.hidden, a.query, model.hidden};
    case LoraTarget::kGateUp:
      return {target, kMlp, model.hidden, joined, 1, width};
    case LoraTarget::kGate:
    case LoraTarget::kUp:
      return {target, kMlp, model.hidden, width, 1, width};
    case LoraTarget::kDown:
      return {target, kMlp, width, model.hidden, width, model.hidden};
  }
  return {};
}

}  // namespace

std::optional<Bytes> quantised_bytes(BaseWeights base) {
  constexpr double kBlock = 64.0;
  constexpr double kScalesOfOne = 256.0;
  switch (base) {
    case BaseWeights::kAsOthers:
      break;
    case BaseWeights::kInt8:
      return Bytes(1);
    case BaseWeights::kNf4:
      return Bytes(0.5 + 4.0 / kBlock);
    case BaseWeights::kNf4Double:
      return Bytes(0.5 + 1.0 / kBlock + 4.0 / (kBlock * kScalesOfOne));
  }
  return std::nullopt;
}

bool TrainedWeights::trains(ParameterRole role) const {
  return frozen ? std::find(frozen->begin(), frozen->end(), role) == frozen->end() : !lora;
}

BaseWeights TrainedWeights::base_weights(ParameterRole role) const {
  const bool matrices = role == ParameterRole::kAttention || role == ParameterRole::kMlp;
  return lora && matrices && !trains(role) ? lora->base : BaseWeights::kAsOthers;
}

bool TrainedWeights::adapts(LoraTarget target) const {
  return lora &&
         std::find(lora->targets.begin(), lora->targets.end(), target) != lora->targets.end();
}

std::vector<AdaptedMatrix> adapted_matrices(const ModelSpec& model, LayerKind kind,
                                            const TrainedWeights& weights) {
  std::vector<AdaptedMatrix> matrices;
  if (!weights.lora) {
    return matrices;
  }
  for (const LoraTarget target : weights.lora->targets) {
    const AdaptedMatrix matrix = adapted(model, kind, target);
    const bool elsewhere =
        matrix.role == ParameterRole::kAttention &&
        (kind.mixer != Mixer::kAttention || model.attention.kind == AttentionKind::kSharedKv);
    if (matrix.inputs > 0 && matrix.outputs > 0 && !elsewhere) {
      matrices.push_back(matrix);
    }
  }
  return matrices;
}

bool trains_layer(const ModelSpec& model, const TrainedWeights& weights, LayerKind kind) {
  using enum ParameterRole;
  if (weights.trains(kNorm) || weights.trains(kAttention)) {
    return true;
  }
  const bool experts = kind.moe && (weights.trains(kRouter) || weights.trains(kExpert));
  const bool mlp = feed_forward_width(model, kind) > 0 && weights.trains(kMlp);
  return experts || mlp || !adapted_matrices(model, kind, weights).empty();
}

LayerKind layer_kind(const ModelSpec& model, const TrainedWeights& weights, std::int64_t index) {
  LayerKind kind = layer_kind(model, index);
  if (weights.trains(ParameterRole::kEmbedding)) {
    return kind;
  }
  kind.input_gradient = false;
  for (std::int64_t below = 0; below < index && !kind.input_gradient; ++below) {
    kind.input_gradient = trains_layer(model, weights, layer_kind(model, below));
  }
  return kind;
}

bool trains_before_head(const ModelSpec& model, const TrainedWeights& weights) {
  return layer_kind(model, weights, model.layers).input_gradient;
}

}  // namespace stepcast
