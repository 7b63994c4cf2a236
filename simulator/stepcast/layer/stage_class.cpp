// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/stage_class.hpp"

#include <algorithm>

#include "stepcast/layer/recompute_choice.hpp"

namespace stepcast {
namespace {

// Then what a stage holds follows from how many layers it has.
bool layers_alike(const ModelSpec& model) {
  const bool same_feed_forward =
      !model.moe || (model.moe->first_dense_layers == 0 && model.moe->every == 1);
  return same_feed_forward && model.attention.full_attention_every == 0;
}

}  // namespace

StageClasses stage_classes(const ExpansionContext& context) {
  StageClasses result;
  const std::vector<StageContent>& stages = context.plan.stages;
  result.of_stage.reserve(stages.size());
  StageClass own;
  std::int64_t first = 0;
  const TrainedWeights& weights = context.training.weights;
  const bool alike = layers_alike(context.model) && weights.whole_model() &&
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
