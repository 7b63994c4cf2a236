// SPDX-License-Identifier: Apache-2.0
// Which operator of the host made each call on the device (trace_recording.hpp says how).
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "traces/trace_recording.hpp"

namespace stepcast {

// A call of the runtime or the driver.
struct TracedLaunch {
  std::int64_t correlation = 0;
  double start = 0.0;
  std::int32_t thread = 0;
  bool graph = false;  // launches a captured graph
};

// `threads` holds the places of each thread's operators in `recording.operators`.
void join_launches(std::deque<TracedLaunch> launches,
                   std::vector<std::vector<std::int32_t>> threads, TraceRecording& recording);

}  // namespace stepcast
