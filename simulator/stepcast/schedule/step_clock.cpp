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

StepAtClock step_at_locked_clock(const StepContext& context) {
  StepAtClock result;
  result.clock = context.clock;
  result.time = step_time(context);
  result.power = mean_power(context.cluster.device.power, {result.time.step, result.time.energy});
  return result;
}

StepAtClock step_within_power(StepContext context) {
  const DeviceSpec& device = context.cluster.device;
  StepAtClock last;
  const Hertz clock = highest_clock(device, [&](Hertz guess) {
    context.clock = guess;
    last = step_at_locked_clock(context);
    const TimeBreakdown& spent = last.time.breakdown;
    const Seconds busy = spent.compute + spent.contention + spent.optimizer;
    return duty_cycle_share(device, busy / last.time.step, {busy, last.time.energy});
  });
  if (clock >= device.clock.peak) {
    return last;
  }
  const double behind =
      device.kernels.power.clock_spread * expected_extreme(context.cluster.gpus());
  context.clock = (1.0 - behind) * clock;
  return step_at_locked_clock(context);
}

}  // namespace stepcast
