// SPDX-License-Identifier: Apache-2.0
// A mapping of a profile whose rows share one source:
//
//   tiles:
//     64: 128x128 128x128 128x128
//     128: 128x64 128x64 64x128
//     source: FACODE
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/hardware/provenance.hpp"

namespace stepcast {

struct SourcedRow {
  std::string key;
  std::string text;
};

// The rows of the mapping `key`, in their order; where they come from is recorded as one number.
inline std::vector<SourcedRow> sourced_rows(SourcedReader& reader, std::string_view key) {
  constexpr std::array<std::string_view, 4> kOrigin = {"source", "assumed", "kind", "note"};
  const ConfigNode* node = reader.reader().node().find(key);
  if (node == nullptr) {
    reader.reader().take_required(key);  // reports it
    return {};
  }
  std::vector<std::string_view> keys;
  keys.reserve(node->entries.size());
  for (const ConfigEntry& entry : node->entries) {
    if (std::find(kOrigin.begin(), kOrigin.end(), entry.key) == kOrigin.end()) {
      keys.push_back(entry.key);
    }
  }
  const std::vector<std::string> texts = reader.texts(key, keys);
  std::vector<SourcedRow> rows;
  rows.reserve(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    rows.push_back({std::string(keys[i]), texts[i]});
  }
  return rows;
}

}  // namespace stepcast
