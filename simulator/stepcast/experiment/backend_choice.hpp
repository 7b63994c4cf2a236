// SPDX-License-Identifier: Apache-2.0
// A backend as the user names it: "tile", or "measured:table.jsonl" for one that reads files, which
// commas part.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/text_list.hpp"

namespace stepcast {

struct BackendChoice {
  std::string name;
  std::vector<std::string> files;  // empty: none is given
};

inline BackendChoice parse_backend_choice(std::string_view text) {
  const std::size_t colon = text.find(':');
  BackendChoice choice{std::string(text.substr(0, colon)), {}};
  std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    choice.files.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  return choice;
}

// As it is written, with every file where `place` puts it.
template <typename Place>
std::string written_choice(BackendChoice choice, const Place& place) {
  for (std::string& file : choice.files) {
    file = place(file);
  }
  return choice.name + (choice.files.empty() ? "" : ":") + text_list(choice.files, ",");
}

}  // namespace stepcast
