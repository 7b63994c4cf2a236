// SPDX-License-Identifier: Apache-2.0
// What follows for context parallelism from a plan, and what its software cannot run.
//
// Transformer Engine (attn_forward_func_with_cp): p2p has no sliding window, all but a2a no
// attention sinks, and none runs without a fused kernel; a2a divides the heads of queries and of
// keys. PyTorch's context_parallel gathers keys and values (allgather, its default) or passes them
// round (alltoall), and exchanges no heads.
#pragma once

#include <string>
#include <vector>

#include "stepcast/graph/model_spec.hpp"
#include "stepcast/hardware/cluster_spec.hpp"
#include "stepcast/plan/parallel_plan.hpp"
#include "stepcast/plan/software_spec.hpp"
#include "stepcast/plan/training_recipe.hpp"

namespace stepcast {

// Settles cp_algorithm and cp_all_to_all of `plan`, whose degrees are known. Without a number given
// as many ranks exchange heads as lie in one domain and divide the heads.
void settle_context_parallel(const PlanRequest& request, const ModelSpec& model,
                             const ClusterSpec& cluster, const SoftwareSpec& software,
                             ParallelPlan& plan);

// Why it cannot run.
std::vector<std::string> context_parallel_reasons(const PlanRequest& request,
                                                  const ModelSpec& model,
                                                  const TrainingRecipe& training,
                                                  const SoftwareSpec& software,
                                                  const ParallelPlan& plan);

}  // namespace stepcast
