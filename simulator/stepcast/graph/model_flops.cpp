// SPDX-License-Identifier: Apache-2.0
#include "stepcast/graph/model_flops.hpp"

#include "stepcast/graph/parameter_inventory.hpp"

namespace stepcast {

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
  const AttentionSpec& a = model.attention;
  const double matrices = 6.0 * static_cast<double>(counts.active - lookups);
  const double attention = 6.0 * static_cast<double>(model.layers * a.heads) *
                           static_cast<double>((a.qk_head_dim + a.v_head_dim) * sequence_length);
  if (weights.whole_model()) {
    return Flops(matrices + attention);
  }
  const TrainedCounts trained = count_trained(model, weights);
  const auto own = static_cast<double>(counts.active - lookups + trained.adapters);
  return Flops(4.0 * own + 2.0 * static_cast<double>(trained.active) + attention);
}

}  // namespace stepcast
