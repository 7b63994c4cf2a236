// SPDX-License-Identifier: Apache-2.0
// The settings of an experiment moved by one step each, as somebody who tunes it would try next.
//
//   plan       tp, cp, ep, pp to the next divisors, vpp to the next cut, another schedule,
//              another sharding, another dispatcher, sequence_parallel (plan_changes.hpp)
//   training   micro_batch_size doubled and halved; recompute none, selective, full, and of a
//              layer more or fewer of a chunk
//   software   each value that the set offers, and operators that are eager fused
//   cluster    a tenth less of the power limit
#pragma once

#include <string>
#include <vector>

#include "stepcast/experiment/experiment.hpp"
#include "stepcast/experiment/plan_changes.hpp"
#include "stepcast/plan/parallel_plan.hpp"

namespace stepcast {

// An experiment with one setting moved, and what goes with it.
struct Move {
  std::string key;  // that is moved: "plan.tp"
  std::string value;
  PlanSettings settings;  // all that make it, as --set takes them
  Experiment experiment;
};

// Ways to make one move, of which the first that divides counts: with the degrees that follow from
// others as they stand, and without them.
using MoveWays = std::vector<Move>;

// `before` are settings that made `experiment` of another.
std::vector<MoveWays> one_step_moves(const Experiment& experiment, const ParallelPlan& settled,
                                     const PlanSettings& before = {});

}  // namespace stepcast
