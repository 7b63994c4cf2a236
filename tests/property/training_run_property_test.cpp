// SPDX-License-Identifier: Apache-2.0
// What must hold for every run, whatever interrupts it.
#include <algorithm>
#include <cmath>
#include <random>

#include "catch.hpp"
#include "property/draws.hpp"
#include "stepcast/experiment/goodput.hpp"
#include "stepcast/result/training_run.hpp"

namespace stepcast::training_run_property_test {
namespace {

const int kRuns = test::draws(2000);

class RandomRuns {
 public:
  RunSpec spec() {
    RunSpec spec;
    spec.tokens = static_cast<std::int64_t>(logarithmic(1.0, 1e14));
    spec.interruptions.mtbf_per_gpu = Seconds(logarithmic(1e6, 1e10));
    spec.interruptions.checkpoint = CheckpointSpec{Seconds(logarithmic(0.1, 1e3)), std::nullopt};
    if (uniform(0.0, 1.0) < 0.5) {
      spec.interruptions.checkpoint->interval = Seconds(logarithmic(10.0, 1e5));
    }
    spec.interruptions.restart = Seconds(uniform(0.0, 3600.0));
    spec.interruptions.stragglers = uniform(0.0, 0.5);
    return spec;
  }

  TimedStep step() {
    const auto gpus = static_cast<std::int64_t>(logarithmic(8.0, 2e4));
    return {Seconds(logarithmic(0.1, 100.0)), static_cast<std::int64_t>(logarithmic(1e3, 1e8)),
            gpus, (gpus + 7) / 8, Watts(uniform(100.0, 1200.0))};
  }

  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine_);
  }

 private:
  double logarithmic(double low, double high) {
    return std::exp(uniform(std::log(low), std::log(high)));
  }

  std::mt19937_64 engine_{7};
};

TEST_CASE("more tokens never take fewer days, GPU-hours or joules", "[property]") {
  RandomRuns random;
  for (int i = 0; i < kRuns; ++i) {
    RunSpec spec = random.spec();
    const TimedStep step = random.step();
    const TrainingRun few = training_run(spec, step);
    spec.tokens =
        static_cast<std::int64_t>(static_cast<double>(spec.tokens) * random.uniform(1.0, 3.0));
    const TrainingRun many = training_run(spec, step);
    REQUIRE(many.steps >= few.steps);
    REQUIRE(many.days() >= few.days());
    REQUIRE(many.gpu_hours() >= few.gpu_hours());
    REQUIRE(many.energy >= few.energy);
  }
}

TEST_CASE("failures, checkpoints, restarts and stragglers never raise goodput", "[property]") {
  RandomRuns random;
  for (int i = 0; i < kRuns; ++i) {
    const Interruptions given = random.spec().interruptions;
    const std::int64_t gpus = random.step().gpus;
    const double share = goodput(given, gpus).share;
    CAPTURE(i, share, gpus);
    REQUIRE(share >= 0.0);
    REQUIRE(share <= 1.0);
    const double more = random.uniform(1.0, 3.0);
    Interruptions worse = given;
    worse.mtbf_per_gpu = *given.mtbf_per_gpu / more;
    REQUIRE(goodput(worse, gpus).share <= share);
    worse = given;
    worse.checkpoint->write = more * given.checkpoint->write;
    REQUIRE(goodput(worse, gpus).share <= share);
    worse = given;
    worse.restart = more * given.restart;
    REQUIRE(goodput(worse, gpus).share <= share);
    worse = given;
    worse.stragglers = std::min(1.0, more * given.stragglers);
    REQUIRE(goodput(worse, gpus).share <= share);
    // A job of more GPUs fails more often.
    REQUIRE(goodput(given, 2 * gpus).share <= share);
  }
}

TEST_CASE("what interrupts a run takes no more than the first order says, and no less",
          "[property]") {
  // Daly's expectation is above the first order, C/tau + (tau/2 + R)/M, by terms of higher order.
  RandomRuns random;
  for (int i = 0; i < kRuns; ++i) {
    Interruptions given = random.spec().interruptions;
    given.stragglers = 0.0;
    const Goodput found = goodput(given, 1);
    const double loss = given.checkpoint->write / *found.interval +
                        (0.5 * *found.interval + given.restart) / *found.mtbf;
    REQUIRE(1.0 / found.share >= 1.0 + loss * (1.0 - 1e-9));
    if (*found.interval + given.checkpoint->write + given.restart < 0.01 * *found.mtbf) {
      REQUIRE(1.0 / found.share <= 1.0 + 1.1 * loss);
    }
  }
}

}  // namespace
}  // namespace stepcast::training_run_property_test
