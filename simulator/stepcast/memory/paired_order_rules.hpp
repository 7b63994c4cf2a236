// SPDX-License-Identifier: Apache-2.0
// What Megatron-LM refuses of passes in pairs (transformer_config.py, __post_init__;
// combined_1f1b.py), in the words of our keys.
#pragma once

#include <string>
#include <vector>

#include "stepcast/graph/model_spec.hpp"
#include "stepcast/plan/parallel_plan.hpp"
#include "stepcast/plan/software_spec.hpp"
#include "stepcast/plan/training_recipe.hpp"

namespace stepcast {

// Why a settled plan cannot run in pairs; empty where the software pairs none, or the model has no
// experts.
std::vector<std::string> paired_order_reasons(const ParallelPlan& plan, const ModelSpec& model,
                                              const TrainingRecipe& training,
                                              const SoftwareSpec& software);

}  // namespace stepcast
