// SPDX-License-Identifier: Apache-2.0
// Settles a plan on a cluster: fills in what follows, and says why it cannot run if it cannot.
#pragma once

#include <string>
#include <vector>

#include "stepcast/graph/model_spec.hpp"
#include "stepcast/hardware/cluster_spec.hpp"
#include "stepcast/plan/parallel_plan.hpp"
#include "stepcast/plan/software_spec.hpp"
#include "stepcast/plan/training_recipe.hpp"

namespace stepcast {

struct ResolvedPlan {
  ParallelPlan plan;                 // settled if there is no reason against it
  std::vector<std::string> reasons;  // every one at once
  std::vector<std::string> notes;    // what was chosen because it was not given
};

// Of a plan that is given (usual_plan.hpp settles the others too). Degrees must divide what they
// split, and the global batch must be a whole number of micro-batches of every replica: a batch
// that is not simulated is never used in a rate. The request may name another dispatcher and
// another way of context parallelism than those of the software.
ResolvedPlan resolve_plan(const PlanRequest& request, const ModelSpec& model,
                          const TrainingRecipe& training, const ClusterSpec& cluster,
                          const SoftwareSpec& software);

}  // namespace stepcast
