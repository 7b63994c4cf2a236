// SPDX-License-Identifier: Apache-2.0
// What a search for the best plan looked at.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace stepcast {

struct SearchedPlans {
  std::int64_t plans = 0;  // all of the space
  std::int64_t priced = 0;
  std::int64_t bounded = 0;                     // those that surely are not the best
  std::map<std::string, std::int64_t> refused;  // reason -> plans; with the others all of them
  // What the best one sets, as --set takes it: {"plan.tp", "8"}.
  std::vector<std::pair<std::string, std::string>> settings;
};

}  // namespace stepcast
