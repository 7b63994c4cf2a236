// SPDX-License-Identifier: Apache-2.0
#include "stepcast/api/contradictions.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace stepcast {
namespace {

std::string_view key_of(const Override& override) {
  return std::string_view(override.assignment).substr(0, override.assignment.find('='));
}

std::string_view value_of(const Override& override) {
  const std::string_view text = override.assignment;
  return text.substr(std::min(key_of(override).size() + 1, text.size()));
}

// Whether `later` says what `earlier` does and more: {base: kimi_k3, layers: 8} beside kimi_k3.
bool builds_on(const Override& earlier, const Override& later) {
  try {
    const ConfigNode value = parse_config(value_of(later), later.place);
    const ConfigNode* base = value.find("base");
    return base != nullptr && base->text == value_of(earlier);
  } catch (const ConfigError&) {
    return false;  // what is wrong with the text is told where it is applied
  }
}

// What is wrong with `later` behind `earlier`; empty: nothing.
std::string contradiction(const Override& earlier, const Override& later) {
  const std::string key(key_of(later));
  if (key_of(earlier) == key && earlier.assignment != later.assignment &&
      !builds_on(earlier, later)) {
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

}  // namespace stepcast
