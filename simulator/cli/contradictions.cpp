// SPDX-License-Identifier: Apache-2.0
#include "cli/contradictions.hpp"

#include <string>
#include <string_view>

namespace stepcast::cli {
namespace {

std::string_view key_of(const Override& override) {
  return std::string_view(override.assignment).substr(0, override.assignment.find('='));
}

// What is wrong with `later` behind `earlier`; empty: nothing.
std::string contradiction(const Override& earlier, const Override& later) {
  const std::string key(key_of(later));
  if (key_of(earlier) == key && earlier.assignment != later.assignment) {
    return "sets '" + key + "' to another value than '" + earlier.place +
           "'; leave one of them out";
  }
  if (key_of(earlier).starts_with(key + ".")) {
    return "replaces all of '" + key + "', and with it '" + earlier.place +
           "'; say both in one, or leave one of them out";
  }
  return {};
}

}  // namespace

void refuse_contradictions(const std::vector<Override>& overrides) {
  Diagnostics diagnostics;
  for (std::size_t later = 0; later < overrides.size(); ++later) {
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      const std::string problem = contradiction(overrides[earlier], overrides[later]);
      if (!problem.empty()) {
        diagnostics.error({overrides[later].place, 0, 0}, problem);
        break;
      }
    }
  }
  diagnostics.throw_if_any();
}

}  // namespace stepcast::cli
