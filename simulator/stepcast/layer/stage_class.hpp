// SPDX-License-Identifier: Apache-2.0
// Stages of a pipeline with the same layers take the same time and the same memory.
#pragma once

#include <cstdint>
#include <vector>

#include "stepcast/layer/layer_expansion.hpp"
#include "stepcast/layer/sharding.hpp"

namespace stepcast {

struct StageClass {
  StageContent content;
  std::vector<KindCount> kinds;          // of layers, as stage_kinds gives them
  std::vector<std::int64_t> recomputed;  // layers of each kind that are recomputed in full
  bool operator==(const StageClass&) const = default;
};

struct StageClasses {
  std::vector<StageClass> classes;
  std::vector<std::size_t> first;     // a stage of each class
  std::vector<std::size_t> of_stage;  // the class of each of plan.stages
};

StageClasses stage_classes(const ExpansionContext& context);

}  // namespace stepcast
