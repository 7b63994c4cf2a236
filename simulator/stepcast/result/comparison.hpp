// SPDX-License-Identifier: Apache-2.0
// Projections of the same work side by side, one column each, and what relates them.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stepcast/result/projection.hpp"
#include "stepcast/result/sweep_summary.hpp"

namespace stepcast {

// One column: the options that make it, as {"gpu", "mi300x"}, and what they give.
struct ComparedColumn {
  std::vector<std::pair<std::string, std::string>> options;
  Projection projection;
  std::optional<SearchedPlans> searched;  // where the plan is the best of many

  // Whether there is a plan to speak of.
  [[nodiscard]] bool has_plan() const { return !searched || searched->priced > 0; }

  // The options' values: "mi300x, 1200 MHz"; the GPU's name without options.
  [[nodiscard]] std::string label() const {
    std::string text;
    for (const auto& [option, value] : options) {
      text += (text.empty() ? "" : ", ") + value;
      text += option == "nodes" ? (value == "1" ? " node" : " nodes") : "";
      text += option == "gpus" ? (value == "1" ? " GPU" : " GPUs") : "";
      text += option == "gpu_clock_mhz" ? " MHz" : "";
    }
    return text.empty() ? projection.gpu : text;
  }
  [[nodiscard]] std::optional<double> price_per_million_tokens() const {
    constexpr double kSecondsOfAnHour = 3600.0;
    if (!projection.gpu_hour || !projection.priced) {
      return std::nullopt;
    }
    return projection.gpu_hour->price / kSecondsOfAnHour / projection.tokens_per_second_per_gpu *
           1e6;
  }
};

// The first column with a time, to which the others are related; nullptr if there is none.
inline const ComparedColumn* reference_of(const std::vector<ComparedColumn>& columns) {
  const auto first = std::ranges::find_if(
      columns, [](const ComparedColumn& column) { return column.projection.priced; });
  return first == columns.end() ? nullptr : &*first;
}

inline double ratio(const Projection& p, const Projection& reference) {
  return p.tokens_per_second_per_gpu / reference.tokens_per_second_per_gpu;
}

// Whether the rates of two projections differ by more than what either may be off.
inline bool can_be_told_apart(const Projection& p, const Projection& reference) {
  return p.expected_error && reference.expected_error &&
         can_be_told_apart(ratio(p, reference), *p.expected_error, *reference.expected_error);
}

}  // namespace stepcast
