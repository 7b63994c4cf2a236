// SPDX-License-Identifier: Apache-2.0
// What a sweep found, for people and for programs.
#pragma once

#include <iosfwd>
#include <string>

#include "stepcast/sweep/sweep_ranking.hpp"
#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast {

// What was swept, the best plans, the Pareto sets with a plot of the first, and what was refused.
// Columns are the axes that vary. Says so where fewer plans were evaluated than there are.
std::string sweep_to_text(const SweepSpace& space, const SweepSummary& summary);

// The same as JSON, written plan by plan: schema_version, context, space_size, evaluated, priced,
// refused, plans (ranked), pareto.
void write_sweep_json(std::ostream& out, const SweepSpace& space, const SweepSummary& summary);

}  // namespace stepcast
