// SPDX-License-Identifier: Apache-2.0
// How long one rank's collectives wait for their peers, told from the trace of that rank alone.
//
// A kernel of NCCL's begins when its own rank launches it and ends when the last rank's has: where
// a peer's host is late it lasts, without moving anything. Beside computation it lasts longer too,
// since both take the memory and the clock. Of a call of duration t
//
//   least   = the shortest of its like: the same collective of the same ranks, of as many bytes or
//             more, which takes no less; or twice the shortest all-reduce of as many or more, which
//             moves each byte twice and so bounds small calls that all wait
//   waiting = the start of the call that is not needed even if what computes beside the rest slows
//             that as much as anything was seen to, so that the rest still moves `least` worth
//   slowed  = t - least - waiting: by computation beside it, or by waiting that is not told from it
//
// The call with the least time may itself wait or be slowed: `waiting` is a lower bound. Of several
// ranks' traces it is known (rank_waiting.hpp).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "trace_reader/step_categories.hpp"

namespace stepcast {

// Seconds from any origin; sorted and apart.
using BusyTimes = std::vector<std::pair<double, double>>;

struct LoneCall {
  StepCategory category = StepCategory::kOther;
  std::string group;   // of ranks
  double bytes = 0.0;  // 0: not known, so that nothing is said of its waiting
  double start = 0.0;
  double end = 0.0;
};

struct CallTime {
  Seconds least;
  Seconds waiting;
};

// In the order of the calls. `computing`: when anything but communication runs.
std::vector<CallTime> lone_waiting(const std::vector<LoneCall>& calls, const BusyTimes& computing);

}  // namespace stepcast
