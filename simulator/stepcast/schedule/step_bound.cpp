// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/step_bound.hpp"

#include <algorithm>
#include <cmath>

#include "stepcast/schedule/step_clock.hpp"

namespace stepcast {
namespace {

constexpr double kRounding = 1e-9;
constexpr int kClocks = 3;  // that are looked at: more raise the bound by little

// A power law f^e between clocks i and i + 1 of the grid lies below its chord by at most an eighth
// of its second derivative: of itself e (e - 1) / (8 i^2). Where a step runs below clock i no
// power is asked for, and above it the share is smaller.
double interpolated_power(double index, double exponent) {
  return exponent * std::max(0.0, exponent - 1.0) / (8.0 * index * index);
}

}  // namespace

Seconds StepBound::at_locked_clock(const LeastStep& least) {
  return (1.0 - kRounding) * least.step;
}

Seconds StepBound::within_power(const ClusterSpec& cluster, const AtClock& at,
                                const Enough& enough) {
  constexpr std::int64_t kPeak = StepTimer::kGrid;
  const DeviceSpec& device = cluster.device;
  const double exponent = power_exponent(device);
  const Watts allowed = (1.0 / draws_more(cluster)) * (device.power.limit - device.power.idle);
  Seconds bound;
  std::int64_t index = last_;
  for (int i = 0; i < kClocks; ++i) {
    const LeastStep least = at(index);
    const double interpolated = 1.0 + interpolated_power(static_cast<double>(index), exponent);
    const Seconds by_power = least.energy / (interpolated * allowed);
    const Seconds here = index == kPeak ? least.step : min(least.step, by_power);
    bound = max(bound, (1.0 - kRounding) * here);
    const double share = by_power / least.step;
    const double balanced =
        static_cast<double>(index) * std::pow(std::max(share, 1e-3), -1.0 / exponent);
    const std::int64_t next =
        std::clamp<std::int64_t>(std::lround(balanced), StepTimer::kLowest + 1, kPeak);
    if (enough(bound) || next == index) {
      break;
    }
    index = next;
  }
  last_ = index;
  return bound;
}

}  // namespace stepcast
