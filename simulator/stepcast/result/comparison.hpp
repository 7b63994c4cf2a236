// SPDX-License-Identifier: Apache-2.0
// Projections of the same work side by side, one column each, and what relates them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stepcast/result/projection.hpp"
#include "stepcast/result/searched_plans.hpp"

namespace stepcast {

// One column: the options that make it, as {"gpu", "mi300x"}, and what they give.
struct ComparedColumn {
  std::vector<std::pair<std::string, std::string>> options;
  Projection projection;
  std::optional<SearchedPlans> searched;  // where the plan is the best of many

  // Whether there is a plan to speak of.
  [[nodiscard]] bool has_plan() const { return !searched || searched->priced > 0; }

  // The options' values: "mi300x, 1200 MHz"; the GPU's name without options.
  [[nodiscard]] std::string label() const;
  [[nodiscard]] std::optional<double> price_per_million_tokens() const;
};

// The first column with a time, to which the others are related; nullptr if there is none.
const ComparedColumn* reference_of(const std::vector<ComparedColumn>& columns);

double ratio(const Projection& p, const Projection& reference);

// Whether the rates of two projections differ by more than what either may be off.
bool can_be_told_apart(const Projection& p, const Projection& reference);

}  // namespace stepcast
