// SPDX-License-Identifier: Apache-2.0
// What the elements of a range add up to, from the first to the last, so that rounding is the same
// wherever it is asked for.
#pragma once

#include <functional>
#include <ranges>
#include <type_traits>

namespace stepcast {

// `part`: what each element adds, a member or a function of it.
template <std::ranges::input_range Range, typename Part = std::identity>
constexpr auto sum_over(Range&& range, Part part = {}) {
  std::decay_t<std::invoke_result_t<Part&, std::ranges::range_reference_t<Range>>> sum{};
  for (auto&& element : range) {
    sum += std::invoke(part, element);
  }
  return sum;
}

}  // namespace stepcast
