// SPDX-License-Identifier: Apache-2.0
// Which numbers of GPUs answer a question about a run: the fewest, the cheapest and the fastest
// that stay within its limits, and those that no other one beats.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "stepcast/result/recommendation.hpp"

namespace stepcast {

// What the run of a candidate costs; GPU-hours where a GPU-hour has no price.
double run_cost(const Projection& projection);
// Whether a candidate can run and stays within all limits.
bool stays_within(const RunCandidate& candidate, const RunLimits& limits);

// With the answers among `candidates`, the fewest GPUs first.
RecommendedGpu recommended(std::string gpu, std::vector<RunCandidate> candidates,
                           const RunLimits& limits);

// Of candidates of which none stays within the limits: the reasons, each with how many it rules
// out. "no plan can run", or a limit with what comes nearest to it.
std::map<std::string, std::int64_t> emptied_by(const RecommendedGpu& gpu, const RunLimits& limits);

// Those within the limits that no other beats in days and cost, the fewest days first.
std::vector<PlacedCandidate> pareto_of(const std::vector<RecommendedGpu>& gpus,
                                       const RunLimits& limits);

}  // namespace stepcast
