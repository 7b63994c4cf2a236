// SPDX-License-Identifier: Apache-2.0
// A text as a cell of CSV (RFC 4180).
#pragma once

#include <string>
#include <string_view>

namespace stepcast {

// In quotes, with its own doubled, where a comma, a quote or the end of a line stands in it.
inline std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c;
    if (c == '"') {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace stepcast
