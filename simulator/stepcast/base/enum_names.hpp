// SPDX-License-Identifier: Apache-2.0
// The names of an enumeration's values, for reading them and for listing them.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace stepcast {

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
constexpr std::string_view entry(const std::array<std::string_view, count>& names, E value) {
  static_assert(names_every_value<E, count>(), "each enumerator needs a name");
  return names[static_cast<std::size_t>(value)];
}

// The names of an enumeration in its order, a std::array specialised beside the enumeration; name()
// and names_of() follow from it. Where a table has the names among other things, both are its own.
template <typename E>
inline constexpr std::nullptr_t kNamesOf = nullptr;

template <typename E>
concept NamedEnum = requires {
  kNamesOf<E>.size();
};

template <NamedEnum E>
constexpr std::string_view name(E value) {
  return entry(kNamesOf<E>, value);
}

// The names of every value, in the order of the enumeration.
template <typename E>
std::span<const std::string_view> names_of() {
  return kNamesOf<E>;
}

}  // namespace stepcast
