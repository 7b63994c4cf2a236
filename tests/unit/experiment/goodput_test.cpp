// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/goodput.hpp"

#include <cmath>

#include "catch.hpp"

namespace stepcast::goodput_test {
namespace {

constexpr Seconds kHour{3600.0};

Interruptions failing(Seconds mtbf_per_gpu, Seconds write) {
  Interruptions given;
  given.mtbf_per_gpu = mtbf_per_gpu;
  given.checkpoint = CheckpointSpec{write, std::nullopt};
  return given;
}

TEST_CASE("a run that nothing interrupts is all training", "[unit]") {
  const Goodput all = goodput(Interruptions{}, 16'384);
  CHECK(all.share == 1.0);
  CHECK_FALSE(all.mtbf.has_value());
  CHECK_FALSE(all.interval.has_value());
}

TEST_CASE("without failures a checkpoint costs its share of the time", "[unit]") {
  Interruptions given;
  given.checkpoint = CheckpointSpec{Seconds(60.0), Seconds(1740.0)};
  CHECK(goodput(given, 512).share == Approx(1740.0 / 1800.0));
}

TEST_CASE("stragglers take their share of the time", "[unit]") {
  Interruptions given;
  given.stragglers = 0.04;
  CHECK(goodput(given, 512).share == Approx(0.96));
}

TEST_CASE("Llama 3's 16,384 GPUs fail each three hours at 50,000 hours a GPU", "[unit]") {
  // 50,000 h / 16,384 = 3.05 h; 54 days of that are 425 failures, of which its report counts 419.
  const Goodput found = goodput(failing(50'000.0 * kHour, Seconds(60.0)), 16'384);
  CHECK(*found.mtbf / kHour == Approx(3.0518).epsilon(1e-4));
  CHECK(54.0 * 24.0 * kHour / *found.mtbf == Approx(424.7).epsilon(1e-3));
}

TEST_CASE("the interval that is not given is Young's", "[unit]") {
  // sqrt(2 * 60 s * 50,000 h / 16,384) = sqrt(2 * 60 * 10,986) = 1,148 s.
  CHECK(young_interval(Seconds(60.0), Seconds(10'986.0)).value() == Approx(1148.2).epsilon(1e-4));
  const Goodput found = goodput(failing(50'000.0 * kHour, Seconds(60.0)), 16'384);
  CHECK(found.interval->value() == Approx(1148.2).epsilon(1e-4));
}

TEST_CASE("failures cost what Daly's expectation says", "[unit]") {
  // M = 10,000 s, C = 50 s, so tau = 1,000 s: E = 10,000 * e^0.06 * (e^0.105 - 1) = 1,175.6 s with
  // a restart of 600 s.
  Interruptions given = failing(Seconds(10'000.0), Seconds(50.0));
  given.restart = Seconds(600.0);
  const Goodput found = goodput(given, 1);
  CHECK(found.interval->value() == Approx(1000.0));
  const double segment = 10'000.0 * std::exp(0.06) * (std::exp(0.105) - 1.0);
  CHECK(segment == Approx(1175.6).epsilon(1e-4));
  CHECK(found.share == Approx(1000.0 / segment));
}

TEST_CASE("checkpoints that cost nothing leave only restarts to lose", "[unit]") {
  Interruptions given = failing(Seconds(10'000.0), Seconds{});
  given.restart = Seconds(1000.0);
  CHECK(goodput(given, 1).share == Approx(std::exp(-0.1)));
}

TEST_CASE("Young's interval is within a percent of the best goodput", "[unit]") {
  const Seconds mtbf(10'000.0);
  for (const double write : {1.0, 10.0, 100.0, 500.0}) {
    Interruptions given = failing(mtbf, Seconds(write));
    const double young = goodput(given, 1).share;
    double best = 0.0;
    for (double interval = 10.0; interval < 20'000.0; interval *= 1.01) {
      given.checkpoint->interval = Seconds(interval);
      best = std::max(best, goodput(given, 1).share);
    }
    CAPTURE(write, best);
    CHECK(young <= best * (1.0 + 1e-4));  // the grid may miss the best by a little
    CHECK(young > 0.99 * best);
  }
}

}  // namespace
}  // namespace stepcast::goodput_test
