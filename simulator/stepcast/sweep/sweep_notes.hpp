// SPDX-License-Identifier: Apache-2.0
// What `project` would note of the plans that a sweep shows: the assumptions that they rest on.
#pragma once

#include <string>
#include <vector>

#include "stepcast/sweep/sweep_ranking.hpp"
#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast {

// Of the best plans and of the Pareto sets, each note once.
std::vector<std::string> sweep_notes(const SweepSpace& space, const SweepSummary& summary);

}  // namespace stepcast
