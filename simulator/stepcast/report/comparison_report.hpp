// SPDX-License-Identifier: Apache-2.0
// Projections of the same work side by side, one column each:
//
//                             mi300x   h100_sxm
//   tokens/s/GPU             1,105.0      812.4
//   ratio to mi300x            1.000      0.735
//   price a million tokens      0.63       0.68
//   step time                14.83 s    20.17 s
//
//   ratio                  = tokens/s/GPU / that of the first column that was timed
//   price a million tokens = price of a GPU-hour / 3600 / (tokens/s/GPU) * 10^6
//   told apart: whether the ratio differs from 1 at 80 % (can_be_told_apart of expected_error.hpp)
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stepcast/report/projection.hpp"
#include "stepcast/report/searched_plans.hpp"

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

// Where `width` is not 0, columns that do not fit into it stand in tables below.
std::string comparison_to_text(const std::vector<ComparedColumn>& columns, std::size_t width = 0);
// `columns` of the result are whole results of `stepcast project`, with `searched` where their plan
// is the best of many; `comparison` has for each of them what relates it to the others. `version`
// is the program's.
nlohmann::ordered_json comparison_to_json(const std::vector<ComparedColumn>& columns,
                                          const std::string& version);
std::string comparison_to_csv(const std::vector<ComparedColumn>& columns);

}  // namespace stepcast
