// SPDX-License-Identifier: Apache-2.0
// Texts one behind the other, as messages name them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace stepcast {

// "tile, roofline", with `between` any two of them: the entries, or what `of` makes of each.
template <typename List, typename Of = std::identity>
std::string text_list(const List& entries, std::string_view between = ", ", const Of& of = {}) {
  std::string list;
  for (const auto& entry : entries) {
    list += list.empty() ? "" : between;
    list += std::invoke(of, entry);
  }
  return list;
}

}  // namespace stepcast
