// SPDX-License-Identifier: Apache-2.0
#include "stepcast/graph/model_flops.hpp"

#include "stepcast/graph/parameter_inventory.hpp"

namespace stepcast {

Flops training_flops_per_token(const ModelSpec& model, std::int64_t sequence_length) {
  const ParameterCounts counts = count_parameters(model);
  const std::int64_t lookups =
      model.tied_embeddings ? counts.embedding - model.vocabulary * model.hidden : counts.embedding;
  const AttentionSpec& a = model.attention;
  const double matrices = 6.0 * static_cast<double>(counts.active - lookups);
  const double attention = 6.0 * static_cast<double>(model.layers * a.heads) *
                           static_cast<double>((a.qk_head_dim + a.v_head_dim) * sequence_length);
  return Flops(matrices + attention);
}

}  // namespace stepcast
