// SPDX-License-Identifier: Apache-2.0
#include "stepcast/result/comparison.hpp"

#include <algorithm>

namespace stepcast {

std::string ComparedColumn::label() const {
  std::string text;
  for (const auto& [option, value] : options) {
    text += (text.empty() ? "" : ", ") + value;
    text += option == "nodes" ? (value == "1" ? " node" : " nodes") : "";
    text += option == "gpu_clock_mhz" ? " MHz" : "";
  }
  return text.empty() ? projection.gpu : text;
}

std::optional<double> ComparedColumn::price_per_million_tokens() const {
  constexpr double kSecondsOfAnHour = 3600.0;
  if (!projection.gpu_hour || !projection.priced) {
    return std::nullopt;
  }
  return projection.gpu_hour->price / kSecondsOfAnHour / projection.tokens_per_second_per_gpu * 1e6;
}

// The first column with a time, to which the others are related; nullptr if there is none.
const ComparedColumn* reference_of(const std::vector<ComparedColumn>& columns) {
  const auto first = std::find_if(columns.begin(), columns.end(), [](const ComparedColumn& column) {
    return column.projection.priced;
  });
  return first == columns.end() ? nullptr : &*first;
}

double ratio(const Projection& p, const Projection& reference) {
  return p.tokens_per_second_per_gpu / reference.tokens_per_second_per_gpu;
}

// Whether the rates of two projections differ by more than what either may be off.
bool can_be_told_apart(const Projection& p, const Projection& reference) {
  return p.expected_error && reference.expected_error &&
         can_be_told_apart(ratio(p, reference), *p.expected_error, *reference.expected_error);
}

}  // namespace stepcast
