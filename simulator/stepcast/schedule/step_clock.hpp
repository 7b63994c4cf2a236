// SPDX-License-Identifier: Apache-2.0
// The clock of a whole step: the highest one at which the slowest rank's mean power over the step
// stays within the limit, and its power while it computes within that of bursts.
//
//   idle + energy(f) / step(f) <= limit
//   idle + energy(f) / (compute + optimizer)(f) <= burst ratio * limit
//
// The limit acts on an average over tens of milliseconds, so a step that waits for communication
// runs its kernels faster than one that does not. One clock for all kernels of a step; the energy
// of communication is not counted.
#pragma once

#include "stepcast/schedule/step_time.hpp"

namespace stepcast {

struct StepAtClock {
  Hertz clock;
  Watts power;  // mean, of one GPU of the slowest rank
  StepTime time;
};

// The step at the clock that the power limit leaves it; `context.clock` is ignored.
StepAtClock step_within_power(StepContext context);

// The step at `context.clock`, whatever power it draws.
StepAtClock step_at_locked_clock(const StepContext& context);

}  // namespace stepcast
