// SPDX-License-Identifier: Apache-2.0
// How many measured runs lie inside the intervals that are stated of them, each without the runs of
// its own source: of an honest 80 % interval, 80 %.
#pragma once

#include <string>
#include <vector>

#include "stepcast/result/validation.hpp"

namespace stepcast {

// The rows of rates and of times of steps, each run once.
std::vector<const ValidationRow*> timed_once(const std::vector<ValidationRow>& rows);

// Of the held-out runs: each family, dense ones on a GPU that another source measured too and on
// one that none did, all; then all of which a constant may know. Groups without runs are left out.
std::vector<IntervalCoverage> interval_coverage(const std::vector<ValidationRow>& rows);

}  // namespace stepcast
