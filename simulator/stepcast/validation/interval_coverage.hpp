// SPDX-License-Identifier: Apache-2.0
// How many measured runs lie inside the intervals that are stated of them, each without the runs of
// its own source: of an honest 80 % interval, 80 %.
#pragma once

#include <string>
#include <vector>

#include "stepcast/validation/validation_row.hpp"

namespace stepcast {

struct IntervalCoverage {
  std::string group;
  std::size_t runs = 0;
  std::size_t sources = 0;
  double inside_80 = 0.0;  // shares of the runs
  double inside_90 = 0.0;
  double half_width_80 = 0.0;  // median, of the predicted tokens/s
};

// The rows of rates and of times of steps, each run once.
std::vector<const ValidationRow*> timed_once(const std::vector<ValidationRow>& rows);

// Of the held-out runs: each family, dense ones on a GPU that another source measured too and on
// one that none did, all; then all of which a constant may know. Groups without runs are left out.
std::vector<IntervalCoverage> interval_coverage(const std::vector<ValidationRow>& rows);

// As a table; empty without runs.
std::string coverage_to_text(const std::vector<IntervalCoverage>& groups);

}  // namespace stepcast
