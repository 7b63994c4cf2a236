// SPDX-License-Identifier: Apache-2.0
// A sweep as one call: what the public header answers for it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/schedule/time_breakdown.hpp"
#include "stepcast/stepcast.hpp"
#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast {

// Evaluates every plan of the space until it is told to stop. `costs`: of every site.
SweepAnswer swept_plans(const SweepSpace& space, const std::vector<CostModel>& costs,
                        const SweepSettings& settings);

// Time by the keys that reports in JSON have for it, in seconds.
std::vector<std::pair<std::string, double>> seconds_by_kind(const TimeBreakdown& time);

}  // namespace stepcast
