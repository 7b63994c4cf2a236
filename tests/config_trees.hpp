// SPDX-License-Identifier: Apache-2.0
// Trees of config files beside each other.
#pragma once

#include <algorithm>

#include "stepcast/config/config_node.hpp"

namespace stepcast::test {

// Whether two trees are equal, places included.
inline bool same_tree(const ConfigNode& a, const ConfigNode& b) {
  const auto same_entry = [](const ConfigEntry& x, const ConfigEntry& y) {
    return x.key == y.key && x.line == y.line && x.column == y.column &&
           same_tree(x.value, y.value);
  };
  return a.kind == b.kind && a.text == b.text && a.quoted == b.quoted && a.line == b.line &&
         a.column == b.column &&
         std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), same_tree) &&
         std::equal(a.entries.begin(), a.entries.end(), b.entries.begin(), b.entries.end(),
                    same_entry);
}

}  // namespace stepcast::test
