// SPDX-License-Identifier: Apache-2.0
// The time of one training step, and where it goes.
//
// Every kind of pass of a stage is solved once on the streams of a rank (stage_time.hpp); the
// pipeline then runs task by task with these durations, and the optimizer ends the step. The
// slowest rank is the one with most to do; its keys, waiting included, add up to the step.
#pragma once

#include "stepcast/schedule/layer_prices.hpp"
#include "stepcast/schedule/time_breakdown.hpp"

namespace stepcast {

struct StepTime {
  Seconds step;
  Joules energy;                  // of the slowest rank's computation, above idle
  std::int64_t slowest_rank = 0;  // of the pipeline
  TimeBreakdown breakdown;        // of the slowest rank; its total is `step`
  TimeBreakdown hidden;           // communication of the slowest rank that computation hides
};

// Between two clocks: every time and energy linear in the clock's period.
StepTime between(const StepTime& slow, const StepTime& fast, double share_of_fast);

// The step at `context.clock`.
StepTime step_time(const StepContext& context);

}  // namespace stepcast
