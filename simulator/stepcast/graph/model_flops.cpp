// SPDX-License-Identifier: Apache-2.0
#include "stepcast/graph/model_flops.hpp"

#include "stepcast/graph/parameter_inventory.hpp"

namespace stepcast {
namespace {

// Of scores and values, forward and backward, for one pair of positions in one layer.
double flops_of_pair(const AttentionSpec& attention) {
  return 6.0 *
         static_cast<double>(attention.heads * (attention.qk_head_dim + attention.v_head_dim));
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
  const double attention =
      flops_of_pair(model.attention) * static_cast<double>(model.layers * sequence_length);
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
  double masked = 0.0;  // pairs of a token in all layers
  for (std::int64_t i = 0; i < model.layers; ++i) {
    masked +=
        tokens - causal_pairs(documents, sequence_length, layer_kind(model, i).window) / tokens;
  }
  return training_flops_per_token(model, sequence_length, weights) -
         Flops(flops_of_pair(model.attention) * masked);
}

}  // namespace stepcast
