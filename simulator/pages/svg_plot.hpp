// SPDX-License-Identifier: Apache-2.0
// Plots of a sweep and of a comparison as SVG, for documents and slides: 760 by 460 points, light
// or dark as the reader's browser is, no script, no other file.
#pragma once

#include <string>
#include <vector>

#include "stepcast/result/comparison.hpp"
#include "stepcast/result/sweep_summary.hpp"
#include "stepcast/sweep/sweep_ranking.hpp"

namespace stepcast {

// Tokens/s/GPU over peak memory of each of `plans`, and the plans that no other beats joined by a
// line. Without plans the axes are empty.
std::string plans_to_svg(const std::string& title, const std::vector<PlanNumbers>& plans,
                         const std::vector<PlanNumbers>& memory_front);

// A bar of tokens/s/GPU for each column, with the range that 80 % of the errors leave; columns that
// cannot run say so.
std::string comparison_to_svg(const std::string& title, const std::vector<ComparedColumn>& columns);

}  // namespace stepcast
