// SPDX-License-Identifier: Apache-2.0
// Texts one behind the other, as messages name them.
#pragma once

#include <string>
#include <string_view>

namespace stepcast {

// "tile, roofline", with `between` any two of them.
template <typename Texts>
std::string text_list(const Texts& texts, std::string_view between = ", ") {
  std::string list;
  for (const auto& text : texts) {
    list += list.empty() ? "" : between;
    list += text;
  }
  return list;
}

}  // namespace stepcast
