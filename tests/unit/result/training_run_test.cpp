// SPDX-License-Identifier: Apache-2.0
#include "stepcast/result/training_run.hpp"

#include "catch.hpp"
#include "stepcast/experiment/goodput.hpp"

namespace stepcast::training_run_test {
namespace {

// 1,000 tokens/s/GPU on 512 GPUs: a step of 512,000 tokens takes a second.
constexpr TimedStep kStep{Seconds(1.0), 512'000, 512, 64, Watts(600.0)};

RunSpec run_of(std::int64_t tokens) {
  RunSpec spec;
  spec.tokens = tokens;
  return spec;
}

TEST_CASE("15e12 tokens at 1,000 tokens/s/GPU on 512 GPUs take 339 days", "[unit]") {
  // 15e12 / 512,000 = 29,296,875 s; / 86,400 = 339.08 days; * 512 / 3,600 = 4,166,667 GPU-hours.
  const TrainingRun run = training_run(run_of(15'000'000'000'000), kStep);
  CHECK(run.steps == 29'296'875);
  CHECK(run.days() == Approx(339.084).epsilon(1e-5));
  CHECK(run.gpu_hours() == Approx(4'166'666.7).epsilon(1e-7));
}

TEST_CASE("the last step of a run is a whole one", "[unit]") {
  CHECK(training_run(run_of(1), kStep).steps == 1);
  CHECK(training_run(run_of(512'000), kStep).steps == 1);
  CHECK(training_run(run_of(512'001), kStep).steps == 2);
  CHECK(training_run(run_of(512'001), kStep).wall == Seconds(2.0));
}

TEST_CASE("the energy of a run is that of GPUs, hosts and network, times PUE", "[unit]") {
  RunSpec spec = run_of(512'000 * 3600LL);  // an hour
  spec.site = {Watts(300.0), Watts(100.0), 1.5};
  const TrainingRun run = training_run(spec, kStep);
  CHECK(run.gpu_energy.value() == Approx(512 * 600.0 * 3600.0));
  CHECK(run.kilowatt_hours() == Approx(1.5 * 512 * 1.0));  // 600 + 300 + 100 W = 1 kW a GPU
  CHECK(run.energy_per_token().value() == Approx(1.5));    // 1,500 W for 1,000 tokens/s
}

TEST_CASE("a single node has no network to feed", "[unit]") {
  TimedStep step = kStep;
  step.nodes = 1;
  CHECK(training_run(run_of(1), step).network_power == Watts{});
  CHECK(training_run(run_of(1), kStep).network_power == SitePower{}.network);
}

TEST_CASE("interruptions stretch a run and its energy", "[unit]") {
  RunSpec spec = run_of(15'000'000'000'000);
  spec.interruptions.stragglers = 0.2;
  const TrainingRun run = training_run(spec, kStep);
  const TrainingRun without = training_run(run_of(15'000'000'000'000), kStep);
  CHECK(run.days() == Approx(without.days() / 0.8));
  CHECK(run.kilowatt_hours() == Approx(without.kilowatt_hours() / 0.8));
  CHECK(run.steps == without.steps);
}

}  // namespace
}  // namespace stepcast::training_run_test
