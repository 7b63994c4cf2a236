// SPDX-License-Identifier: Apache-2.0
// What frameworks and the layers of a model refuse of a plan whose degrees are known.
//
// Context parallelism: Transformer Engine (attn_forward_func_with_cp): p2p has no sliding window,
// all but a2a no attention sinks, and none runs without a fused kernel; a2a divides the heads of
// queries and of keys. PyTorch's context_parallel gathers keys and values (allgather, its default)
// or passes them round (alltoall), and exchanges no heads.
// Passes in pairs: Megatron-LM (transformer_config.py, __post_init__; combined_1f1b.py).
#pragma once

#include <vector>

#include "stepcast/hardware/cluster_spec.hpp"
#include "stepcast/model/model_spec.hpp"
#include "stepcast/plan/parallel_plan.hpp"
#include "stepcast/plan/reason.hpp"
#include "stepcast/plan/software_spec.hpp"
#include "stepcast/plan/training_recipe.hpp"

namespace stepcast {

// Why tensor parallelism, or context parallelism that exchanges heads, does not divide what a
// model's layers have; empty where they do. Of layers that differ the first count is told that is
// in the way.
std::vector<Reason> layer_division_reasons(const ModelSpec& model, const ParallelPlan& plan);

// Settles cp_algorithm and cp_all_to_all of `plan`, whose degrees are known. Without a number given
// as many ranks exchange heads as lie in one domain and divide the heads.
void settle_context_parallel(const PlanRequest& request, const ModelSpec& model,
                             const ClusterSpec& cluster, const SoftwareSpec& software,
                             ParallelPlan& plan);
// Why context parallelism cannot run.
std::vector<Reason> context_parallel_reasons(const PlanRequest& request, const ModelSpec& model,
                                             const TrainingRecipe& training,
                                             const SoftwareSpec& software,
                                             const ParallelPlan& plan);

// Why a plan cannot run its passes in pairs; empty where the software pairs none, or the model has
// no experts.
std::vector<Reason> paired_order_reasons(const ParallelPlan& plan, const ModelSpec& model,
                                         const TrainingRecipe& training,
                                         const SoftwareSpec& software);

}  // namespace stepcast
