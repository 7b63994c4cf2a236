// SPDX-License-Identifier: Apache-2.0
// The values of an enumeration as what a field may be.
#pragma once

#include <span>
#include <vector>

#include "stepcast/base/enum_names.hpp"
#include "stepcast/config/mapping_reader.hpp"

namespace stepcast {

template <typename E>
std::vector<NamedValue<E>> named_values() {
  std::vector<NamedValue<E>> values;
  for (const std::string_view name : names_of<E>()) {
    values.push_back({name, static_cast<E>(values.size())});
  }
  return values;
}

template <typename E>
std::span<const NamedValue<E>> enum_names() {
  static const std::vector<NamedValue<E>> values = named_values<E>();
  return values;
}

}  // namespace stepcast
