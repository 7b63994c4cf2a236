// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/step_bound.hpp"

#include <algorithm>
#include <cmath>

#include "stepcast/schedule/step_clock.hpp"

namespace stepcast {
namespace {

// Of the power between two clocks, above the limit; and of rounding.
constexpr double kInterpolated = 0.004;
constexpr double kRounding = 1e-9;

}  // namespace

Seconds StepBound::at_locked_clock(const LeastStep& least) {
  return (1.0 - kRounding) * least.step;
}

Seconds StepBound::within_power(const ClusterSpec& cluster, const AtClock& at, const Enough& enough,
                                int clocks) {
  constexpr std::int64_t kPeak = StepTimer::kGrid;
  const DeviceSpec& device = cluster.device;
  const double exponent = device.kernels.power.voltage_exponent + 1.0;
  const double draws_more = std::pow(1.0 - behind_mean(cluster), -exponent);
  const Watts allowed =
      ((1.0 + kInterpolated) / draws_more) * (device.power.limit - device.power.idle);
  Seconds bound;
  std::int64_t index = last_;
  for (int i = 0; i < clocks; ++i) {
    const LeastStep least = at(index);
    const Seconds by_power = least.energy / allowed;
    const Seconds here = index == kPeak ? least.step : min(least.step, by_power);
    bound = max(bound, (1.0 - kRounding) * here);
    const double share = by_power / least.step;
    const double balanced =
        static_cast<double>(index) * std::pow(std::max(share, 1e-3), -1.0 / exponent);
    const std::int64_t next = std::clamp<std::int64_t>(std::lround(balanced), kPeak / 4 + 1, kPeak);
    if (enough(bound) || next == index) {
      break;
    }
    index = next;
  }
  last_ = index;
  return bound;
}

}  // namespace stepcast
