// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/stage_class.hpp"

#include <algorithm>

#include "stepcast/layer/recompute_choice.hpp"

namespace stepcast {
namespace {

// Then what a stage holds follows from how many layers it has.
bool one_kind_of_layer(const ModelSpec& model) {
  const LayerKind first = layer_kind(model, 0);
  for (std::int64_t i = 1; i < model.layers; ++i) {
    if (layer_kind(model, i) != first) {
      return false;
    }
  }
  return true;
}

}  // namespace

StageClasses stage_classes(const ExpansionContext& context) {
  StageClasses result;
  const std::vector<StageContent>& stages = context.plan.stages;
  result.of_stage.reserve(stages.size());
  StageClass own;
  std::int64_t first = 0;
  const TrainedWeights& weights = context.training.weights;
  const bool alike = one_kind_of_layer(context.model) && weights.whole_model() &&
                     context.training.recompute.layer_list.empty();
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (alike && i > 0 && stages[i] == stages[i - 1]) {
      result.of_stage.push_back(result.of_stage.back());
      continue;
    }
    own.content = stages[i];
    count_kinds(context.model, weights, first, own.content, own.kinds);
    count_recomputed_layers(context, first, own.content, own.kinds, own.recomputed);
    first += own.content.layers;
    const auto known = std::find(result.classes.begin(), result.classes.end(), own);
    result.of_stage.push_back(static_cast<std::size_t>(known - result.classes.begin()));
    if (known == result.classes.end()) {
      result.classes.push_back(own);
      result.first.push_back(i);
    }
  }
  return result;
}

}  // namespace stepcast
