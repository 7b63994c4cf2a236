// SPDX-License-Identifier: Apache-2.0
// The clock of a whole step: the highest one at which the slowest rank's mean power over the step
// stays within the limit, and its power while it computes within that of bursts.
//
//   idle + energy(f) / step(f) <= limit
//   idle + energy(f) / (compute + optimizer)(f) <= burst ratio * limit
//
// GPUs differ, and all wait for the slowest: of n GPUs with a spread s of their clocks it would run
// products at clock (1 - s e(n)), with
//   e(n) = [q - (ln ln n + ln 4 pi) / (2 q) + 0.577 / q] m(c) / m(9),  q = sqrt(2 ln n),
//   m(c) = c - integral from -c to c of F(x)^n dx
// The first factor is the mean of the largest of n normal variables (extreme value theory; 7 %
// above the exact one of eight, with which the energies of kernels were fitted), the other what is
// left of it where F is cut off at c deviations, since those who run a fleet take out what is
// slower. GPUs of which none was taken out are not cut off. At the same clock the slowest draws (1
// - s e(n))^
// -(voltage exponent + 1) times as much above idle.
//
// The limit acts on an average over tens of milliseconds, so a step that waits for communication
// runs its kernels faster than one that does not. The energy of communication is not counted.
//
// With a cost model that keeps kernels within a level (cost/power_state.hpp) f is the clock that
// names the level: products run at about it, kernels that draw less up to the peak.
#pragma once

#include "stepcast/schedule/step_time.hpp"

namespace stepcast {

class StepTimer;

struct StepAtClock {
  Hertz clock;
  Watts power;  // mean, of one GPU of the slowest rank
  StepTime time;
  // Of a locked clock, whether the power limit leaves it; of one that was looked for, whether the
  // part's lowest does not draw more.
  bool keeps_limit = true;
};

// The step at the clock that the power limit leaves it; `context.clock` is ignored.
StepAtClock step_within_power(const StepContext& context);

// As above, with a timer of the same step, whose solved clocks are used and added to.
StepAtClock step_within_power(const StepContext& context, StepTimer& timer);

// How far the clock of the slowest GPU of a cluster, which all others wait for, is behind their
// mean, of it.
double behind_mean(const ClusterSpec& cluster);
// The same of some GPUs of it.
double clock_behind_mean(const ClusterSpec& cluster, std::int64_t gpus);

// Of a device's power in its clock.
double power_exponent(const DeviceSpec& device);

// How many times as much above idle the slowest GPU of a cluster draws as their mean.
double draws_more(const ClusterSpec& cluster);

// By how many standard deviations the slowest of `gpus` falls behind their mean, by extreme value
// theory; 0 for one.
double expected_extreme(std::int64_t gpus);
// The exact mean where none is further from the mean than `cut` deviations; 0 for one. None of any
// number is beyond kBeyondAll.
inline constexpr double kBeyondAll = 9.0;
double mean_extreme_within(std::int64_t gpus, double cut);

// The step at `context.clock`, whatever power it draws.
StepAtClock step_at_locked_clock(const StepContext& context);
StepAtClock step_at_locked_clock(const StepContext& context, StepTimer& timer);

}  // namespace stepcast
