// SPDX-License-Identifier: Apache-2.0
// What the text and the tables of a comparison share.
#pragma once

#include <algorithm>

#include "stepcast/report/comparison_report.hpp"

namespace stepcast {

// The first column with a time, to which the others are related; nullptr if there is none.
inline const ComparedColumn* reference_of(const std::vector<ComparedColumn>& columns) {
  const auto first = std::find_if(columns.begin(), columns.end(), [](const ComparedColumn& column) {
    return column.projection.priced;
  });
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
