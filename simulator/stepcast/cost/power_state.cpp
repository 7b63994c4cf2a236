// SPDX-License-Identifier: Apache-2.0
#include "stepcast/cost/power_state.hpp"

#include <cmath>

namespace stepcast {
namespace {

constexpr double kLowestShare = 0.25;  // of the peak clock
constexpr int kIterations = 40;
constexpr double kTolerance = 1e-7;

}  // namespace

Watts mean_power(const PowerSpec& power, const WorkAtClock& work) {
  return work.duration > Seconds{} ? power.idle + work.energy / work.duration : power.idle;
}

Watts power_limit(const DeviceSpec& device, PowerState state) {
  return state == PowerState::kCool ? device.kernels.power.burst_ratio * device.power.limit
                                    : device.power.limit;
}

Hertz power_limited_clock(const DeviceSpec& device, Watts limit,
                          const std::function<WorkAtClock(Hertz)>& work) {
  Hertz high = device.clock.peak;
  Hertz low = kLowestShare * high;
  const auto dynamic = [&](Hertz clock) {
    return mean_power(device.power, work(clock)) - device.power.idle;
  };
  const Watts allowed = limit - device.power.idle;
  Watts at_high = dynamic(high);
  if (at_high <= allowed) {
    return high;
  }
  Watts at_low = dynamic(low);
  if (at_low >= allowed) {
    return low;
  }
  // Power is close to a power law of the clock: a secant in logarithms, kept inside its bracket.
  for (int i = 0; i < kIterations && (high - low) / high > kTolerance; ++i) {
    const double share = std::log(allowed / at_low) / std::log(at_high / at_low);
    const Hertz guess = low * std::pow(high / low, share);
    const Watts drawn = dynamic(guess);
    if (std::abs(drawn / allowed - 1.0) < kTolerance) {
      return guess;
    }
    if (drawn > allowed) {
      high = guess;
      at_high = drawn;
    } else {
      low = guess;
      at_low = drawn;
    }
  }
  return low;
}

Hertz duty_cycle_clock(const DeviceSpec& device, double duty,
                       const std::function<WorkAtClock(Hertz)>& work) {
  const Watts idle = device.power.idle;
  const Watts average = idle + (power_limit(device, PowerState::kWarm) - idle) / duty;
  return power_limited_clock(device, min(average, power_limit(device, PowerState::kCool)), work);
}

PricedOp price_at(const ClockState& state, const Op& op, const CostModel& model,
                  KernelContext context, const ClusterSpec& cluster) {
  const Detail detail = context.detail;
  if (state.power == PowerState::kLocked) {
    context.clock = state.locked;
  } else {
    context.detail = Detail::kDuration;
    const Watts limit = power_limit(context.device, state.power);
    context.clock = power_limited_clock(context.device, limit, [&](Hertz clock) {
      KernelContext at = context;
      at.clock = clock;
      const OpCost cost = model.cost(op, at, cluster);
      return WorkAtClock{cost.duration, cost.energy};
    });
  }
  context.detail = detail;
  return {model.cost(op, context, cluster), context.clock};
}

}  // namespace stepcast
