// SPDX-License-Identifier: Apache-2.0
// The plans of a sweep column by column, small enough for thousands of them in a page:
//
//   {"plans": 3, "columns": [{"key": "index", "values": [42, 7, 13]},
//                            {"key": "plan.tp", "all": 8},
//                            {"key": "axes.plan.schedule", "names": ["1f1b", "gpipe"],
//                             "places": [0, 0, 1]}, ...]}
//
// Keys are those of a line of plan_lines.hpp, of objects inside with a dot. Measures have six
// significant digits; a line has all of them. A value that an axis does not set is null.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "stepcast/result/sweep_summary.hpp"
#include "stepcast/sweep/sweep_ranking.hpp"
#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast {

// As many of the best plans of a sweep as a page holds.
inline constexpr std::size_t kPlansOfPage = 10'000;

// The best plans of `summary`, at most kPlansOfPage of them, and those of its fronts behind them.
std::vector<PlanNumbers> plans_of_page(const SweepSummary& summary);

nlohmann::ordered_json plan_columns(const SweepSpace& space, const std::vector<PlanNumbers>& plans);

}  // namespace stepcast
