// SPDX-License-Identifier: Apache-2.0
// A step time that a plan cannot beat, found without laying its passes out on streams.
//
// At a clock f the pipeline is run with what each pass takes at least (least_stage.hpp). Times of a
// pipeline never fall when a task gets longer, since each is a maximum of sums of tasks, so its
// last end T(f), with the optimizer behind it, is no later than the step's. The energy E(f) is that
// of the kernels of the rank with least. The step itself at one clock is no bound: passes side by
// side may fit better where their kernels are slower.
//
// The clock f* of the step is not known, but
//   a slower clock makes no kernel faster    f* <= f: step >= T(f)
//   a faster one saves no energy             f* >= f: energy >= E(f), and the mean power of the
//                                            slowest GPU, which draws `d` of the others, stays
//                                            within the limit: step >= d E(f) / (limit - idle)
// so at any f: step >= min(T(f), d E(f) / (limit - idle)), and at the peak clock step >= T(f).
// Between two clocks of its grid a step's power is interpolated along a power law, above which its
// chord lies by a share that falls with the square of the clock (interpolated_power): the limit is
// taken as much higher.
#pragma once

#include <functional>

#include "stepcast/schedule/least_step.hpp"
#include "stepcast/schedule/step_timer.hpp"

namespace stepcast {

// Looks for the clock whose bound is the highest, from the one that was best last time.
class StepBound {
 public:
  // Whether a bound says enough, so that no better one is looked for.
  using Enough = std::function<bool(Seconds)>;
  // What a step takes at least at a clock of the grid of StepTimer.
  using AtClock = std::function<LeastStep(std::int64_t index)>;

  // The step at a clock that is given, less what rounding may have added.
  static Seconds at_locked_clock(const LeastStep& least);
  // A lower bound of the step where the power limit sets the clock, from a few clocks.
  Seconds within_power(const ClusterSpec& cluster, const AtClock& at, const Enough& enough);

 private:
  std::int64_t last_ = StepTimer::kGrid * 7 / 8;
};

}  // namespace stepcast
