// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/step_clock.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "stepcast/cost/power_state.hpp"

namespace stepcast {

double expected_extreme(std::int64_t gpus) {
  if (gpus < 2) {
    return 0.0;
  }
  const double log = std::log(static_cast<double>(gpus));
  const double q = std::sqrt(2.0 * log);
  return std::max(0.0, q - (std::log(log) + std::log(4.0 * std::numbers::pi)) / (2.0 * q) +
                           std::numbers::egamma / q);
}

namespace {

StepAtClock described(const DeviceSpec& device, Hertz clock, StepTime time) {
  const Watts power = mean_power(device.power, {time.step, time.energy});
  return {clock, power, std::move(time)};
}

}  // namespace

StepAtClock step_at_locked_clock(const StepContext& context) {
  return described(context.cluster.device, context.clock, step_time(context));
}

StepAtClock step_within_power(const StepContext& context) {
  const DeviceSpec& device = context.cluster.device;
  StepTimer timer(context);
  StepAtClock last;
  const Hertz clock = highest_clock(device, [&](Hertz guess) {
    last = described(device, guess, timer.near(guess));
    const TimeBreakdown& spent = last.time.breakdown;
    const Seconds busy = spent.compute + spent.contention + spent.optimizer;
    return duty_cycle_share(device, busy / last.time.step, {busy, last.time.energy});
  });
  if (clock >= device.clock.peak) {
    return last;
  }
  const double behind =
      device.kernels.power.clock_spread * expected_extreme(context.cluster.gpus());
  const Hertz slowest = (1.0 - behind) * clock;
  return described(device, slowest, timer.near(slowest));
}

}  // namespace stepcast
