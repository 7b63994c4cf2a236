// SPDX-License-Identifier: Apache-2.0
// The clock that the power limit allows, on a machine of round numbers: 100 W without work, 700 W
// at most, bursts of 1.5 times that, 2 GHz at most.
#include "stepcast/cost/power_state.hpp"

#include <cmath>

#include "catch.hpp"
#include "stepcast/cost/cost_model.hpp"

namespace stepcast::power_state_test {
namespace {

using test::nearly;

constexpr Hertz kGhz{1e9};

DeviceSpec round_device() {
  DeviceSpec device;
  device.clock.peak = 2.0 * kGhz;
  device.compute_units = 10;
  device.matrix_rate[slot(Dtype::kBf16)] = FlopsPerCycle(1024.0);
  device.matrix_rate[slot(Dtype::kFp8)] = FlopsPerCycle(2048.0);
  device.power = {.limit = Watts(700), .idle = Watts(100)};
  PowerConstants& power = device.kernels.power;
  power.reference_clock = kGhz;
  power.voltage_exponent = 2.0;
  power.matrix_energy[slot(Dtype::kBf16)] = Joules(3e-9);
  power.matrix_energy[slot(Dtype::kFp8)] = Joules(2e-9);
  power.hbm_energy = Joules(1e-10);
  power.burst_ratio = 1.5;
  power.burst_energy = Joules(1000);
  device.libraries.clocks = {.cool_calls = 10.0, .mixed_duty = 0.88, .surely_within = 0.95};
  return device;
}

KernelContext context(const DeviceSpec& device, Hertz clock) {
  return {device, clock, device.compute_units, {}, Detail::kDuration};
}

double joules(const KernelActivity& activity, Hertz clock) {
  const DeviceSpec device = round_device();
  return kernel_energy(activity, context(device, clock)).value();
}

// A product takes `cycles` of the clock, or `fixed` seconds of memory if that is longer, and draws
// `watts` above idle at 1 GHz, growing with the exponent of the clock.
class PowerLawGemm final : public GemmModel {
 public:
  PowerLawGemm(double cycles, double watts, double exponent, double fixed = 0.0)
      : cycles_(cycles), watts_(watts), exponent_(exponent), fixed_(fixed) {}

  [[nodiscard]] OpCost gemm(const Gemm& /*op*/, const KernelContext& context) const override {
    const Seconds duration = max(Seconds(fixed_), cycles_ / context.clock);
    const double watts = watts_ * std::pow(context.clock / kGhz, exponent_);
    OpCost cost{duration, Bound::kCompute, Watts(watts) * duration};
    if (context.detail == Detail::kTerms) {
      cost.terms = {{"all", duration}};
    }
    return cost;
  }
  [[nodiscard]] OpCost grouped_gemm(const GroupedGemm& /*op*/,
                                    const KernelContext& context) const override {
    return gemm({}, context);
  }

 private:
  double cycles_;
  double watts_;
  double exponent_;
  double fixed_;
};

PricedOp price(const ClockState& state, const PowerLawGemm& gemm,
               const DeviceSpec& device = round_device(), Detail detail = Detail::kDuration) {
  CostModel model;
  model.gemm = std::make_shared<PowerLawGemm>(gemm);
  KernelContext kernel = context(device, {});
  kernel.detail = detail;
  return price_at(state, {.work = Gemm{}}, model, kernel, {});
}

double ghz(PowerState state, const PowerLawGemm& gemm, const DeviceSpec& device = round_device()) {
  return price({state, {}}, gemm, device).clock / kGhz;
}

// The clock is solved until the power is right to 1e-4.
Approx solved(double value) { return Approx(value).epsilon(1e-4); }

TEST_CASE("a matrix cycle costs its energy at the reference clock", "[unit]") {
  CHECK(joules({.matrix_cycles = 1e9}, kGhz) == nearly(3.0));
  CHECK(joules({.matrix_cycles = 1e9, .dtype = Dtype::kFp8}, kGhz) == nearly(2.0));
}

TEST_CASE("the energy of a matrix cycle grows with the exponent of the clock", "[unit]") {
  CHECK(joules({.matrix_cycles = 1e9}, 2.0 * kGhz) == nearly(3.0 * 4.0));
  CHECK(joules({.matrix_cycles = 1e9}, 0.5 * kGhz) == nearly(3.0 / 4.0));
}

TEST_CASE("a format without an energy of its own costs that of bf16", "[unit]") {
  CHECK(joules({.matrix_cycles = 1e9, .dtype = Dtype::kFp4}, kGhz) == nearly(3.0));
}

TEST_CASE("bytes of HBM cost the same at every clock and join the matrix cycles", "[unit]") {
  CHECK(joules({.hbm = Bytes(1e9)}, kGhz) == nearly(0.1));
  CHECK(joules({.hbm = Bytes(1e9)}, 2.0 * kGhz) == nearly(0.1));
  CHECK(joules({.matrix_cycles = 1e9, .hbm = Bytes(1e9)}, kGhz) == nearly(3.1));
}

TEST_CASE("the mean power is that without work and the energy over the time", "[unit]") {
  CHECK(mean_power(round_device().power, {Seconds(2), Joules(900)}) == Watts(550));
  CHECK(mean_power(round_device().power, {}) == Watts(100));
}

TEST_CASE("a warm kernel runs at the clock whose power is the limit", "[unit]") {
  // 600 W are left above idle: 400 f^3 = 600, 300 f^2 = 600, 500 f = 600.
  CHECK(ghz(PowerState::kWarm, {1e9, 400, 3.0}) == solved(std::cbrt(1.5)));
  CHECK(ghz(PowerState::kWarm, {1e9, 300, 2.0}) == solved(std::sqrt(2.0)));
  CHECK(ghz(PowerState::kWarm, {1e9, 500, 1.0}) == solved(1.2));
}

TEST_CASE("a kernel that draws less than the limit runs at the peak clock", "[unit]") {
  CHECK(ghz(PowerState::kWarm, {1e9, 70, 3.0}) == 2.0);  // 560 W at 2 GHz
}

TEST_CASE("work of memory alone runs at the peak clock", "[unit]") {
  // 300 W at any clock, within the time that memory takes.
  const PricedOp priced = price({PowerState::kWarm, {}}, {1.0, 300, 0.0, 1e-3});
  CHECK(priced.clock == 2.0 * kGhz);
  CHECK(priced.cost.duration == Seconds(1e-3));
}

TEST_CASE("the clock falls to a quarter of the peak and no further", "[unit]") {
  // 600 W would be at 0.25 GHz: below half a gigahertz.
  CHECK(ghz(PowerState::kWarm, {1e9, 9600, 2.0}) == nearly(0.5));
  CHECK(ghz(PowerState::kWarm, {1e9, 601, 0.0}) == nearly(0.5));
}

TEST_CASE("a long kernel on a cool GPU shares out the burst's energy", "[unit]") {
  // Ten calls of half a second at 2 GHz: 1000 J over them are 200 W more. 800 W = 200 f^2.
  CHECK(ghz(PowerState::kCool, {1e9, 200, 2.0, 0.5}) == solved(2.0));
  CHECK(ghz(PowerState::kCool, {1.0, 400, 2.0, 0.5}) == solved(std::sqrt(2.0)));
}

TEST_CASE("a short kernel on a cool GPU is held by the burst's ratio", "[unit]") {
  // 1.5 * 700 - 100 W above idle, 500 f^2.
  CHECK(ghz(PowerState::kCool, {1e6, 500, 2.0}) == solved(std::sqrt(950.0 / 500.0)));
  CHECK(ghz(PowerState::kWarm, {1e6, 500, 2.0}) == solved(std::sqrt(600.0 / 500.0)));
}

TEST_CASE("without a burst a cool GPU is as a warm one", "[unit]") {
  DeviceSpec device = round_device();
  device.kernels.power.burst_energy = Joules{};
  CHECK(ghz(PowerState::kCool, {1e6, 500, 2.0}, device) ==
        ghz(PowerState::kWarm, {1e6, 500, 2.0}, device));
}

TEST_CASE(
    "a short kernel among others has the clock that a large product leaves in 0.88 of the time",
    "[unit]") {
  // 0.88 * 400 f^3 = 600, whatever the kernel itself draws.
  CHECK(ghz(PowerState::kMixed, {1e9, 400, 3.0}) == solved(std::cbrt(1.5 / 0.88)));
  CHECK(ghz(PowerState::kMixed, {1e9, 70, 3.0}) == 2.0);
}

TEST_CASE("a locked clock holds whatever the power is", "[unit]") {
  const PricedOp priced = price({PowerState::kLocked, 1.5 * kGhz}, {3e9, 9000, 3.0});
  CHECK(priced.clock == 1.5 * kGhz);
  CHECK(priced.cost.duration == Seconds(2.0));
}

TEST_CASE("the parts of a price at a state are filled only where asked for", "[unit]") {
  const PowerLawGemm gemm(1e9, 400, 3.0);
  const PricedOp plain = price({PowerState::kWarm, {}}, gemm);
  const PricedOp detailed = price({PowerState::kWarm, {}}, gemm, round_device(), Detail::kTerms);
  CHECK(plain.cost.terms.empty());
  CHECK(detailed.cost.terms.size() == 1);
  CHECK(detailed.cost.duration == plain.cost.duration);
  CHECK(detailed.clock == plain.clock);
}

}  // namespace
}  // namespace stepcast::power_state_test
