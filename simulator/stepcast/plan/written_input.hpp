// SPDX-License-Identifier: Apache-2.0
// Recipes, plans and software sets as the mappings of an experiment that read back to the same
// values.
#pragma once

#include "stepcast/config/config_node.hpp"
#include "stepcast/plan/parallel_plan.hpp"
#include "stepcast/plan/software_spec.hpp"
#include "stepcast/plan/training_recipe.hpp"

namespace stepcast {

// Every key, those left out with their defaults; keys that belong to another kind of recomputation
// are not there.
ConfigNode written_training(const TrainingRecipe& training);
// The keys that the user gave.
ConfigNode written_request(const PlanRequest& request);
// The overlap of a plan: timeline, or the shares.
ConfigNode written_overlap(const ParallelPlan& plan);

// The keys in which software differs from the named set that it comes from.
ConfigNode written_changes(const SoftwareSpec& software, const SoftwareSpec& base);
// All but the dispatcher, which is a key of the software itself.
ConfigNode written_changes(const ExchangeSpec& spec, const ExchangeSpec& base);

}  // namespace stepcast
