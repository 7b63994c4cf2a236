// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/step_clock.hpp"

#include <algorithm>

#include "stepcast/cost/power_state.hpp"

namespace stepcast {

StepAtClock step_at_locked_clock(const StepContext& context) {
  StepAtClock result;
  result.clock = context.clock;
  result.time = step_time(context);
  result.power = mean_power(context.cluster.device.power, {result.time.step, result.time.energy});
  return result;
}

StepAtClock step_within_power(StepContext context) {
  const DeviceSpec& device = context.cluster.device;
  const PowerSpec& power = device.power;
  const Watts average = power.limit - power.idle;
  const Watts burst = device.kernels.power.burst_ratio * power.limit - power.idle;
  StepAtClock last;
  const Hertz clock = highest_clock(device, [&](Hertz guess) {
    context.clock = guess;
    last = step_at_locked_clock(context);
    const TimeBreakdown& spent = last.time.breakdown;
    const Seconds busy = spent.compute + spent.contention + spent.optimizer;
    const Watts computing = mean_power(power, {busy, last.time.energy}) - power.idle;
    return std::max((last.power - power.idle) / average, computing / burst);
  });
  if (last.clock == clock) {
    return last;
  }
  context.clock = clock;
  return step_at_locked_clock(context);
}

}  // namespace stepcast
