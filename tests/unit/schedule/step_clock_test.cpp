// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/step_clock.hpp"

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast::step_clock_test {
namespace {

StepAtClock step_on(ClusterSpec cluster, std::int64_t nodes) {
  static const test::Sample sample = test::dense_sample();
  static const CostModel cost = default_cost_model();
  cluster.nodes = nodes;
  return step_within_power({sample.context(), cluster, cost, Hertz{}});
}

ClusterSpec limited(double watts) {
  DeviceSpec device = test::shipped_gpu("h200_sxm");
  device.power.limit = Watts(watts);
  return cluster_of(std::move(device), 1);
}

TEST_CASE("the slowest of n GPUs falls behind as the largest of n normal variables", "[unit]") {
  // Means of the largest of 8, 64 and 1024: 1.42, 2.34 and 3.25 deviations.
  CHECK(expected_extreme(1) == 0.0);
  CHECK(expected_extreme(8) == Approx(1.42).epsilon(0.1));
  CHECK(expected_extreme(64) == Approx(2.34).epsilon(0.03));
  CHECK(expected_extreme(1024) == Approx(3.25).epsilon(0.03));
  CHECK(mean_extreme_within(8, 9.0) == Approx(1.4236).epsilon(1e-4));
  CHECK(mean_extreme_within(1024, 9.0) == Approx(3.2482).epsilon(1e-4));
}

// Of two the larger is 0.5642 deviations above the mean of a normal variable, a little less of one
// that is cut; no number of GPUs has one beyond the cut.
TEST_CASE("of GPUs that are cut off at three deviations the slowest is never further", "[unit]") {
  CHECK(mean_extreme_within(1, 3.0) == 0.0);
  CHECK(mean_extreme_within(2, 9.0) == Approx(0.5642).epsilon(1e-3));
  CHECK(mean_extreme_within(64, 3.0) == Approx(2.26).epsilon(5e-3));
  CHECK(mean_extreme_within(2048, 3.0) == Approx(2.91).epsilon(5e-3));
  CHECK(mean_extreme_within(16384, 3.0) == Approx(2.99).epsilon(5e-3));
  for (std::int64_t gpus = 2; gpus <= 16384; gpus *= 2) {
    CHECK(mean_extreme_within(gpus, 3.0) < 3.0);
    CHECK(mean_extreme_within(2 * gpus, 3.0) > mean_extreme_within(gpus, 3.0));
  }
}

// Of 64 GPUs the slowest is 2.34 deviations behind, 2.30 where those beyond 3.23 were taken out.
TEST_CASE("of GPUs of which none was taken out the slowest is further behind", "[unit]") {
  ClusterSpec cluster = cluster_of(test::shipped_gpu("h100_sxm"), 8);
  const double screened = behind_mean(cluster);
  cluster.chips = Chips::kUnscreened;
  CHECK(behind_mean(cluster) == Approx(0.03 * expected_extreme(64)));
  CHECK(screened / behind_mean(cluster) == Approx(2.2972 / 2.3437).epsilon(1e-4));
}

TEST_CASE("a lower power limit lowers the clock and the power of a step", "[unit]") {
  const StepAtClock free = step_on(limited(2000.0), 1);
  const StepAtClock tight = step_on(limited(300.0), 1);
  CHECK(free.clock == test::shipped_gpu("h200_sxm").clock.peak);
  CHECK(tight.clock < free.clock);
  CHECK(tight.power <= Watts(300.1));
  CHECK(tight.time.step > free.time.step);
}

TEST_CASE("more GPUs wait for a slower one, unless the clock is at its peak", "[unit]") {
  CHECK(step_on(limited(300.0), 8).clock < step_on(limited(300.0), 1).clock);
  CHECK(step_on(limited(2000.0), 8).clock == step_on(limited(2000.0), 1).clock);
}

// 2 % more power is about two thirds of that in clock; the slowest of 64 GPUs is behind their mean
// by more than that.
TEST_CASE("the clock of many GPUs rises to its peak without a jump", "[unit]") {
  Hertz before = step_on(limited(300.0), 8).clock;
  for (double watts = 306.0; before < test::shipped_gpu("h200_sxm").clock.peak; watts *= 1.02) {
    CAPTURE(watts);
    REQUIRE(watts < 5000.0);
    const Hertz clock = step_on(limited(watts), 8).clock;
    CHECK(clock >= before);
    CHECK(clock <= 1.015 * before);
    before = clock;
  }
}

}  // namespace
}  // namespace stepcast::step_clock_test
