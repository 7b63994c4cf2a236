// SPDX-License-Identifier: Apache-2.0
// A backend as the user names it: "tile", or "measured:table.jsonl" for one that reads a file.
#pragma once

#include <string>
#include <string_view>

namespace stepcast {

struct BackendChoice {
  std::string name;
  std::string file;  // empty: none is given
};

inline BackendChoice parse_backend_choice(std::string_view text) {
  const std::size_t colon = text.find(':');
  const bool has_file = colon != std::string_view::npos;
  return {std::string(text.substr(0, colon)), std::string(has_file ? text.substr(colon + 1) : "")};
}

}  // namespace stepcast
