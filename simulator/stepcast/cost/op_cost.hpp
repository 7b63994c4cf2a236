// SPDX-License-Identifier: Apache-2.0
// What an operator costs, and why.
#pragma once

#include <string_view>
#include <vector>

#include "stepcast/base/units.hpp"

namespace stepcast {

enum class Bound { kCompute, kMemory, kLatency, kBandwidth };

constexpr std::string_view name(Bound bound) {
  switch (bound) {
    case Bound::kCompute:
      return "compute";
    case Bound::kMemory:
      return "memory";
    case Bound::kLatency:
      return "latency";
    case Bound::kBandwidth:
      return "bandwidth";
  }
  return "";
}

// One part of a predicted time: "math 139 us". Terms that run side by side do not add up.
struct CostTerm {
  std::string_view name;  // with static lifetime
  Seconds duration;
};

struct OpCost {
  Seconds duration;
  Bound bound = Bound::kCompute;
  std::vector<CostTerm> terms;  // filled only where the caller asks for them
};

}  // namespace stepcast
