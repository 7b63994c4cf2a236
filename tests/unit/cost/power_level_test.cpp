// SPDX-License-Identifier: Apache-2.0
// Clocks at a level of power, on a machine whose products draw 300 W at 1 GHz with its ten units
// busy and eight times that at twice the clock; bursts may draw 950 W above idle.
#include "stepcast/cost/power_state.hpp"

#include <cmath>

#include "catch.hpp"

namespace stepcast::power_level_test {
namespace {

constexpr Hertz kGhz{1e9};

DeviceSpec round_device() {
  DeviceSpec device;
  device.clock.peak = 2.0 * kGhz;
  device.compute_units = 10;
  device.power = {.limit = Watts(700), .idle = Watts(100)};
  PowerConstants& power = device.kernels.power;
  power.reference_clock = kGhz;
  power.voltage_exponent = 2.0;
  power.matrix_energy[slot(Dtype::kBf16)] = Joules(3e-8);
  power.burst_ratio = 1.5;
  return device;
}

// Takes 1e9 cycles and draws `watts` at 1 GHz, growing with the cube of the clock.
class CubicMemoryBound final : public MemoryBoundModel {
 public:
  explicit CubicMemoryBound(double watts) : watts_(watts) {}
  [[nodiscard]] OpCost memory_bound(const MemoryBound& /*op*/,
                                    const KernelContext& context) const override {
    const Seconds duration = 1e9 / context.clock;
    const Watts drawn(watts_ * std::pow(context.clock / kGhz, 3.0));
    return {duration, Bound::kMemory, drawn * duration};
  }

 private:
  double watts_;
};

CostModel drawing(double watts) {
  return {nullptr, nullptr, std::make_shared<CubicMemoryBound>(watts), nullptr};
}

// In GHz.
double clock_of(double watts, Hertz level, std::int64_t units = 10) {
  ClusterSpec cluster;
  cluster.device = round_device();
  const KernelContext context{cluster.device, level, units, {}, Detail::kDuration};
  return within_level({.work = MemoryBound{}}, drawing(watts), context, cluster).clock / kGhz;
}

}  // namespace

TEST_CASE("A level is named by the clock of products that draw it, up to that of bursts",
          "[unit]") {
  const DeviceSpec device = round_device();
  CHECK(power_level(device, 10, kGhz).value() == Approx(300));
  CHECK(power_level(device, 10, 1.2 * kGhz).value() == Approx(300 * 1.728));
  CHECK(power_level(device, 10, 2.0 * kGhz).value() == Approx(950));
  CHECK(power_level(device, 5, kGhz).value() == Approx(150));
}

TEST_CASE("At a level each kernel has the clock at which it draws as much, up to the peak",
          "[unit]") {
  CHECK(clock_of(300, kGhz) == Approx(1.0));
  CHECK(clock_of(100, kGhz) == Approx(std::cbrt(3.0)));
  CHECK(clock_of(30, kGhz) == Approx(2.0));
  CHECK(clock_of(300, kGhz, 5) == Approx(std::cbrt(0.5)));
  CHECK(clock_of(300, 2.0 * kGhz) == Approx(std::cbrt(950.0 / 300.0)));
}

TEST_CASE("A higher level never makes a kernel slower", "[property]") {
  double before = 0.0;
  for (int i = 1; i <= 20; ++i) {
    const double clock = clock_of(120, 0.1 * i * kGhz);
    CHECK(clock >= before);
    before = clock;
  }
}

TEST_CASE("A model within a level prices each kernel at its own clock", "[unit]") {
  const DeviceSpec device = round_device();
  const KernelContext context{device, kGhz, 10, {}, Detail::kDuration};
  const CostModel paced = within_level(drawing(100));
  CHECK(paced.memory_bound->memory_bound({}, context).duration.value() ==
        Approx(1.0 / std::cbrt(3.0)));
}

TEST_CASE("Where only a step has a clock, all of its kernels have it", "[unit]") {
  DeviceSpec device = round_device();
  device.kernels.power.clock_per = ClockScope::kStep;
  const KernelContext context{device, kGhz, 10, {}, Detail::kDuration};
  const CostModel paced = within_level(drawing(100));
  CHECK(paced.memory_bound->memory_bound({}, context).duration.value() == Approx(1.0));
}

TEST_CASE("Without energies every kernel runs at the clock of the level", "[unit]") {
  DeviceSpec device = round_device();
  device.kernels.power.matrix_energy = {};
  const KernelContext context{device, kGhz, 10, {}, Detail::kDuration};
  const CostModel paced = within_level(drawing(1000));
  CHECK(paced.memory_bound->memory_bound({}, context).duration.value() == Approx(1.0));
}

}  // namespace stepcast::power_level_test
