// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "catch.hpp"
#include "stepcast/cost/power_state.hpp"

namespace stepcast::duty_cycle_test {
namespace {

// 100 W without work, 700 W at most, bursts of 1.5 times that; 2 GHz at most.
DeviceSpec round_device() {
  DeviceSpec device;
  device.clock.peak = Hertz(2e9);
  device.power = {.limit = Watts(700), .idle = Watts(100)};
  device.kernels.power.burst_ratio = 1.5;
  return device;
}

// One second at 1 GHz; above idle it draws `watts` (f / 1 GHz)^2.
auto work_of(double watts) {
  return [watts](Hertz clock) {
    const double ghz = clock.value() / 1e9;
    return WorkAtClock{Seconds(1.0 / ghz), Joules(watts * ghz)};
  };
}

// The clock is solved until the power is right to 1e-4.
Approx solved(double value) { return Approx(value).epsilon(1e-4); }

TEST_CASE("pauses leave power for a higher clock", "[unit]") {
  const DeviceSpec device = round_device();
  // 600 W above idle at all times are sqrt(600 / 400) GHz, and 600 / 0.8 in four fifths of them.
  CHECK(duty_cycle_clock(device, 1.0, work_of(400)).value() == solved(1e9 * std::sqrt(1.5)));
  CHECK(duty_cycle_clock(device, 0.8, work_of(400)).value() == solved(1e9 * std::sqrt(1.875)));
}

TEST_CASE("bursts stay within their own limit however long the pauses are", "[unit]") {
  // 1.5 * 700 - 100 W above idle in a burst.
  CHECK(duty_cycle_clock(round_device(), 0.01, work_of(800)).value() ==
        solved(1e9 * std::sqrt(950.0 / 800.0)));
  CHECK(duty_cycle_clock(round_device(), 0.01, work_of(10)) == Hertz(2e9));
}

TEST_CASE("without pauses the clock is that of warm work", "[unit]") {
  const DeviceSpec device = round_device();
  const auto work = work_of(500);
  CHECK(duty_cycle_clock(device, 1.0, work) == highest_clock(device, [&](Hertz clock) {
          return power_share(device, PowerState::kWarm, work(clock));
        }));
}

}  // namespace
}  // namespace stepcast::duty_cycle_test
