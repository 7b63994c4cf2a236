// SPDX-License-Identifier: Apache-2.0
#include "stepcast/parallel/stage_class.hpp"

#include <algorithm>

#include "stepcast/parallel/recompute_choice.hpp"

namespace stepcast {

StageClasses stage_classes(const ExpansionContext& context) {
  StageClasses result;
  const std::vector<StageContent>& stages = context.plan.stages;
  result.of_stage.reserve(stages.size());
  StageClass own;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    own.content = stages[i];
    count_kinds(context.model, first, own.content, own.kinds);
    count_recomputed_layers(context, first, own.content, own.kinds, own.again);
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
