// SPDX-License-Identifier: Apache-2.0
// What a search over plans loses by trusting predictions: of runs of the same work that differ in
// their plans, the one predicted to be the fastest against the one that was.
//
//   kept   = measured tokens/s/GPU of the pick / of the fastest; 1 - kept is the regret
//   random = mean of measured tokens/s/GPU / of the fastest: what a pick at random keeps
//
// The same work: one model, one number of nodes, one batch in tokens. Runs of the same work may
// have found their network in other states; a search is done on one of them, so that the same is
// said of the runs of each state by themselves.
#pragma once

#include <string>
#include <vector>

#include "stepcast/result/timed_runs.hpp"

namespace stepcast {

// Groups of fewer runs leave a search no choice.
inline constexpr std::size_t kLeastPlans = 5;

enum class RegretScope { kWork, kWorkAndNetwork };

// By model, nodes, state of the network. Points into `runs`.
std::vector<RegretGroup> plan_regret(const std::vector<TimedRun>& runs, RegretScope scope);

// All zero without groups.
RegretSummary summary_of(const std::vector<RegretGroup>& groups);

}  // namespace stepcast
