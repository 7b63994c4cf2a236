// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/local_tensors.hpp"

#include <algorithm>

#include "stepcast/base/real.hpp"
#include "stepcast/layer/sharding.hpp"
#include "stepcast/layer/weight_matrix.hpp"

namespace stepcast {

std::vector<double> local_tensors(const ExpansionContext& context, LayerKind kind) {
  std::vector<double> elements;
  const ParameterList parameters = layer_parameters(context.model, kind, context.training.weights);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const ParameterTensor& tensor = parameters[i];
    double local = local_elements(tensor, context.plan);
    if (tensor.frozen || local <= 0.0) {
      continue;
    }
    if (is_stacked(tensor.matrix.stacked, context.software)) {
      for (const std::size_t last = last_of_group(parameters, i); i < last;) {
        local += local_elements(parameters[++i], context.plan);
      }
    }
    const std::int64_t copies = tensor.role == ParameterRole::kExpert
                                    ? std::max<std::int64_t>(1, tensor.instances / context.plan.ep)
                                    : 1;
    elements.insert(elements.end(), static_cast<std::size_t>(copies), local / real(copies));
  }
  return elements;
}

double mean_ddp_bucket(const std::vector<double>& tensors, double least) {
  constexpr int kLayers = 16;  // enough for the rest of a layer to even out
  double buckets = 0.0;
  double all = 0.0;
  double filled = 0.0;
  for (int layer = 0; layer < kLayers; ++layer) {
    for (auto tensor = tensors.rbegin(); tensor != tensors.rend(); ++tensor) {
      all += *tensor;
      filled += *tensor;
      if (filled >= least) {
        buckets += 1.0;
        filled = 0.0;
      }
    }
  }
  // What is left waits for the layers that follow, as a part of a bucket.
  return all / (buckets + std::min(1.0, filled / least));
}

}  // namespace stepcast
