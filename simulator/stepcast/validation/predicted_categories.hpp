// SPDX-License-Identifier: Apache-2.0
// The device time of a step by category as the simulator has it, in the state in which a trace is
// taken: the first step after a pause.
//
// After a pause a GPU may draw more than its limit until it has spent its reserve of energy:
//   t_burst = burst energy / (power at the burst's clock - limit)
// A step of that clock's duration T runs a share min(1, t_burst / T) of its work at it, the rest at
// the clock of the steady state. Each category is the time of its spans on the streams of the rank,
// with what kernels lose beside communication and the gaps between them.
#pragma once

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/report/projection.hpp"
#include "stepcast/validation/step_categories.hpp"

namespace stepcast {

struct PredictedStep {
  bool priced = false;
  std::vector<std::string> reasons;  // why it is not
  Seconds step;
  CategoryTimes device_time{};
  Seconds exposed_communication;
  Seconds idle;
};

// The share of a step's work that the reserve after a pause lets run at the clock of bursts.
struct BurstShare {
  Hertz clock;
  double share = 0.0;
};
BurstShare burst_after_pause(const Experiment& experiment, const CostModel& cost);

// Pipeline rank 0's.
PredictedStep step_after_pause(const Experiment& experiment, const CostModel& cost);

}  // namespace stepcast
