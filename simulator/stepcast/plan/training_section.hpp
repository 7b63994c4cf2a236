// SPDX-License-Identifier: Apache-2.0
// All of the mapping `training` of an experiment: the recipe of a step, and the run that repeats
// it.
#pragma once

#include <optional>

#include "stepcast/plan/run_spec.hpp"
#include "stepcast/plan/training_recipe.hpp"

namespace stepcast {

struct TrainingSection {
  TrainingRecipe recipe;
  std::optional<RunSpec> run;
};

// Problems go to the reader's diagnostics.
TrainingSection read_training_section(MappingReader reader);

}  // namespace stepcast
