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

// Whether `value` is an enumerator. Both compilers write an enumerator by its name and any other
// value of the enumeration as a cast, "(stepcast::Schedule)10".
template <auto value>
consteval bool is_enumerator() {
  const std::string_view written = __PRETTY_FUNCTION__;
  return written[written.find("value = ") + std::string_view("value = ").size()] != '(';
}

// Whether an enumeration that counts from 0 has `count` enumerators.
template <typename E, std::size_t count>
consteval bool names_every_value() {
  return is_enumerator<static_cast<E>(count - 1)>() && !is_enumerator<static_cast<E>(count)>();
}

// The name of `value` in a table in the order of its enumeration, which has a name for each.
template <typename E, std::size_t count>
std::string_view entry(const std::array<std::string_view, count>& names, E value) {
  static_assert(names_every_value<E, count>(), "each enumerator needs a name");
  return names[static_cast<std::size_t>(value)];
}

}  // namespace stepcast
