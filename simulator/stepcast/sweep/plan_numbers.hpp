// SPDX-License-Identifier: Apache-2.0
// What a sweep keeps of every plan that it priced: the numbers that `project` reports for it.
#pragma once

#include <cstdint>

#include "stepcast/base/units.hpp"
#include "stepcast/schedule/time_breakdown.hpp"

namespace stepcast {

// Of fixed size and without pointers, so that parts of a sweep are files of them.
struct PlanNumbers {
  std::int64_t plan = 0;  // its index in the space
  double tokens_per_second_per_gpu = 0.0;
  Seconds step;
  FlopsPerSecond model_rate_per_gpu;
  double mfu = 0.0;
  Bytes peak_memory;
  Hertz clock;
  Watts power;
  TimeBreakdown time;
};

}  // namespace stepcast
