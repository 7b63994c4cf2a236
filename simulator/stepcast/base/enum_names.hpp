// SPDX-License-Identifier: Apache-2.0
// The names of an enumeration's values, for reading them and for listing them.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace stepcast {

// The names of every value, in the order of the enumeration; specialised beside each enumeration.
template <typename E>
std::span<const std::string_view> names_of();

// The name of `value` in a table in the order of its enumeration; throws where the table lacks it.
template <typename E, std::size_t N>
std::string_view entry(const std::array<std::string_view, N>& names, E value) {
  return names.at(static_cast<std::size_t>(value));
}

}  // namespace stepcast
