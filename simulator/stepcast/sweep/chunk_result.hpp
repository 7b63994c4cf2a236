// SPDX-License-Identifier: Apache-2.0
// What a range of the plans of a sweep gave. Each plan is either priced or counted once, under the
// first reason against it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "stepcast/sweep/plan_numbers.hpp"

namespace stepcast {

struct ChunkResult {
  std::vector<PlanNumbers> priced;              // by index
  std::map<std::string, std::int64_t> refused;  // reason -> plans
};

}  // namespace stepcast
