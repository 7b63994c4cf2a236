// SPDX-License-Identifier: Apache-2.0
#include "stepcast/model/model_flops.hpp"

#include <algorithm>

#include "stepcast/model/parameter_inventory.hpp"
#include "stepcast/model/sparse_attention.hpp"

namespace stepcast {
namespace {

// Of scores and values, forward and backward, for one pair of positions in one layer.
double flops_of_pair(const AttentionHeads& heads) {
  return 6.0 * static_cast<double>(heads.query * (heads.qk_dim + heads.v_dim));
}

// Keys that a layer's attention may see of `length` positions, masked or not.
double keys_of(const ModelSpec& model, LayerKind kind, double length) {
  double keys = kind.compression > 0 ? length / static_cast<double>(kind.compression) : length;
  if (chooses_keys(model, kind)) {
    keys = std::min(keys, static_cast<double>(model.attention.indexer->chosen));
  }
  const bool beside_window = kind.compression > 0;
  return std::min(length, keys + (beside_window ? static_cast<double>(kind.window) : 0.0));
}

// Those that the masks leave of a sequence, of all its queries: a choice of n keys leaves as many
// as a window of n. Beside compressed keys no window is none, and not the whole sequence.
double pairs_of(const ModelSpec& model, LayerKind kind, std::int64_t length,
                const Documents& documents) {
  const std::int64_t chosen = chooses_keys(model, kind) ? model.attention.indexer->chosen : 0;
  if (kind.compression == 0) {
    return causal_pairs(documents, length, chosen > 0 ? chosen : kind.window);
  }
  const double compressed =
      capped_pairs(length, length, kind.compression, chosen > 0 ? chosen : length);
  return compressed + (kind.window > 0 ? causal_pairs(documents, length, kind.window) : 0.0);
}

// Of what no parameter multiplies, forward and backward, for one token of a sequence.
double flops_between(const ModelSpec& model, LayerKind kind, double length) {
  if (kind.mixer == Mixer::kLinearAttention) {
    const LinearAttentionSpec& linear = *model.mixers.linear_attention;
    return 18.0 * static_cast<double>(linear.v_width() * linear.qk_head_dim);
  }
  if (kind.mixer != Mixer::kAttention) {
    return 0.0;
  }
  double flops = flops_of_pair(heads_of(model, kind)) * keys_of(model, kind, length);
  if (chooses_keys(model, kind)) {
    const IndexerSpec& indexer = *model.attention.indexer;
    const double keys = length / static_cast<double>(std::max<std::int64_t>(1, kind.compression));
    flops += (indexer.trained ? 6.0 : 2.0) * static_cast<double>(indexer.heads * indexer.head_dim) *
             keys;
  }
  return flops;
}

double flops_between_parameters(const ModelSpec& model, std::int64_t length) {
  double flops = 0.0;
  for (std::int64_t i = 0; i < model.layers; ++i) {
    flops += flops_between(model, layer_kind(model, i), static_cast<double>(length));
  }
  return flops;
}

}  // namespace

std::string flop_convention(const TrainedWeights& weights) {
  const std::string factors = weights.whole_model()
                                  ? "torchtitan: 6 (active parameters - embedding)"
                                  : "6 trained and 4 frozen (active parameters - embedding)";
  return factors +
         " + 6 L heads (d_qk + d_v) seq, attention uncut by the mask, no recomputation, no "
         "multi-token prediction";
}

Flops training_flops_per_token(const ModelSpec& model, std::int64_t sequence_length,
                               const TrainedWeights& weights) {
  const ParameterCounts counts = count_parameters(model);
  const std::int64_t lookups =
      model.tied_embeddings ? counts.embedding - model.vocabulary * model.hidden : counts.embedding;
  const double matrices = 6.0 * static_cast<double>(counts.active - lookups);
  const double attention = flops_between_parameters(model, sequence_length);
  if (weights.whole_model()) {
    return Flops(matrices + attention);
  }
  const TrainedCounts trained = count_trained(model, weights);
  const auto own = static_cast<double>(counts.active - lookups + trained.adapters);
  return Flops(4.0 * own + 2.0 * static_cast<double>(trained.active) + attention);
}

Flops masked_flops_per_token(const ModelSpec& model, std::int64_t sequence_length,
                             const Documents& documents, const TrainedWeights& weights) {
  const auto tokens = static_cast<double>(sequence_length);
  double masked = 0.0;  // FLOPs of a token in all layers
  for (std::int64_t i = 0; i < model.layers; ++i) {
    const LayerKind kind = layer_kind(model, i);
    if (kind.mixer != Mixer::kAttention) {
      continue;
    }
    masked +=
        flops_of_pair(heads_of(model, kind)) *
        (keys_of(model, kind, tokens) - pairs_of(model, kind, sequence_length, documents) / tokens);
  }
  return training_flops_per_token(model, sequence_length, weights) - Flops(masked);
}

}  // namespace stepcast
