// SPDX-License-Identifier: Apache-2.0
// From a plan as it was asked for to one that can run: fills in what follows, chooses what is left
// out, and says why it cannot run if it cannot. Whether it fits a GPU is asked only where no plan
// is given at all.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/hardware/cluster_spec.hpp"
#include "stepcast/model/model_spec.hpp"
#include "stepcast/plan/parallel_plan.hpp"
#include "stepcast/plan/reason.hpp"
#include "stepcast/plan/software_spec.hpp"
#include "stepcast/plan/training_recipe.hpp"

namespace stepcast {

// What reasons of degrees follow from, beside the recipe: the degrees that a request asks for.
inline constexpr std::array<std::string_view, 6> kDegreeKeys = {"plan.tp", "plan.cp",  "plan.pp",
                                                                "plan.ep", "plan.etp", "plan.dp"};

struct ResolvedPlan {
  ParallelPlan plan;               // settled if there is no reason against it
  std::vector<Reason> reasons;     // every one at once, or those that were asked for
  std::vector<std::string> notes;  // what was chosen because it was not given
  // Whether the first reason follows from kDegreeKeys and the recipe alone: any request that is the
  // same in these has it.
  bool refused_by_degrees = false;
};

// Whether all reasons against a given plan are wanted, or it is left where the first are found.
enum class Wanted { kAllReasons, kFirstReasons };

// Settles the plan of an experiment. Where the request gives none, a usual one is chosen that fits
// the GPU's memory, and a note says which:
//
//   1. Full sharding over all GPUs, with the smallest tensor parallelism with which the global
//      batch gives every replica whole micro-batches, and experts over one node.
//   2. If that does not fit: pipelines with ZeRO 1 on as few GPUs a replica as do, 2, 4, 8 ..., and
//      of these with as much tensor parallelism as a node has.
//   3. If none fits, the first, with the reasons against it.
ResolvedPlan settle_plan(const PlanRequest& request, const ModelSpec& model,
                         const TrainingRecipe& training, const ClusterSpec& cluster,
                         const SoftwareSpec& software, Wanted wanted = Wanted::kAllReasons);

// The same of a plan that is given. Degrees must divide what they split, and the global batch must
// be a whole number of micro-batches of every replica: a batch that is not simulated is never used
// in a rate. The request may name another dispatcher and another way of context parallelism than
// those of the software.
ResolvedPlan resolve_plan(const PlanRequest& request, const ModelSpec& model,
                          const TrainingRecipe& training, const ClusterSpec& cluster,
                          const SoftwareSpec& software, Wanted wanted = Wanted::kAllReasons);

}  // namespace stepcast
