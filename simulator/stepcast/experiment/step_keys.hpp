// SPDX-License-Identifier: Apache-2.0
// The time of a step by its keys, as reports that compare steps name them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "stepcast/schedule/time_breakdown.hpp"

namespace stepcast {

// All but what computes undisturbed.
std::vector<std::pair<std::string, Seconds>> keys_beside_computation(const TimeBreakdown& time);

}  // namespace stepcast
