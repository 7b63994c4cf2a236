// SPDX-License-Identifier: Apache-2.0
// All that the operators of a layer depend on in a plan and a recipe: everything but the pipeline
// that the layer is part of.
//
// Plans with the same layer configuration run the same operators for a layer, keep the same tensors
// of it, and reduce the same gradients: whoever solves many plans solves that once.
#pragma once

#include "stepcast/layer/layer_expansion.hpp"

namespace stepcast {

struct LayerConfiguration {
  ParallelPlan plan;               // its pipeline left at the defaults
  TrainingRecipe training;         // without the global batch
  bool accumulates = false;        // gradients over more than one micro-batch
  std::int64_t mirrored_over = 0;  // ranks of a pipeline in which every stage lies on two of them
  bool operator==(const LayerConfiguration&) const = default;
};

LayerConfiguration layer_configuration(const ExpansionContext& context);
// Equal for equal configurations.
std::size_t hash_of(const LayerConfiguration& configuration);

}  // namespace stepcast
