// SPDX-License-Identifier: Apache-2.0
// Settles the plan of an experiment, also where none is given: then a usual one is chosen that fits
// the GPU's memory.
//
//   1. Full sharding over all GPUs, with the smallest tensor parallelism with which the global
//   batch
//      gives every replica whole micro-batches, and experts over one node.
//   2. If that does not fit: pipelines with ZeRO 1 on as few GPUs a replica as do, 2, 4, 8 ..., and
//      of these with as much tensor parallelism as a node has.
//   3. If none fits, the first, with the reasons against it.
#pragma once

#include "stepcast/memory/feasibility.hpp"
#include "stepcast/plan/software_spec.hpp"

namespace stepcast {

// As resolve_plan; a note says what was chosen where the request gives no plan.
ResolvedPlan settle_plan(const PlanRequest& request, const ModelSpec& model,
                         const TrainingRecipe& training, const ClusterSpec& cluster,
                         const SoftwareSpec& software);

}  // namespace stepcast
