// SPDX-License-Identifier: Apache-2.0
// A plan and its recipe as people read them, on one line each.
#pragma once

#include <string>

#include "stepcast/plan/parallel_plan.hpp"
#include "stepcast/plan/training_recipe.hpp"

namespace stepcast {

// The recipe on one line: "bf16, sequence 8192, global batch 128, micro-batch 1, recompute full".
std::string training_text(const TrainingRecipe& training);
// "full (block, 3 layers a stage)".
std::string recompute_text(const RecomputeSpec& recompute);
// The settled plan on one line: "tp 8 (sequence parallel), cp 1, pp 1, ep 1, dp 64, zero 1".
std::string plan_line(const ParallelPlan& plan);

}  // namespace stepcast
