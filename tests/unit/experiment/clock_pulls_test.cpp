// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/clock_pulls.hpp"

#include <algorithm>

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/schedule/step_clock.hpp"

namespace stepcast::clock_pulls_test {
namespace {

// Eight MI300X: 750 W of which 140 idle.
Experiment one_node() {
  return load_experiment(test::data_root().folder / "examples/02_llama2_7b_mi300x/experiment.yaml",
                         {"cluster={gpu: mi300x, nodes: 1}"}, test::data_root());
}

std::size_t place_of(const MovableExperiment& movable, std::string_view key) {
  const auto numbers = movable.numbers();
  return static_cast<std::size_t>(
      std::find_if(numbers.begin(), numbers.end(),
                   [key](const PlacedNumber& entry) { return entry.origin->key == key; }) -
      numbers.begin());
}

// A product that takes a second and draws what the limit leaves above idle: its time falls with the
// clock, its energy grows with the square of it and with the energy of a cycle.
StepOp product(const MovableExperiment& movable) {
  StepOp op;
  op.op = {OpId::kMlpDown, Gemm{.m = 8, .n = 8, .k = 8}, Block::kDense};
  op.count = 1.0;
  op.below_peak = true;
  op.price.cost.duration = Seconds(1.0);
  op.price.cost.energy = Joules(610.0);
  op.price.clock = {0, {Seconds(-1.0)}, Joules(2.0 * 610.0)};
  op.price.numbers = {
      {place_of(movable, "power.matrix_energy.bf16"), {Seconds(0.0)}, Joules(610.0)}};
  return op;
}

TEST_CASE("a clock below the peak follows the third root of what the limit leaves", "[unit]") {
  const MovableExperiment movable(one_node());
  const Pulls pulls = clock_pulls(movable, {product(movable)}, 1.0);
  CHECK(pulls[place_of(movable, "power.matrix_energy.bf16")] == Approx(-1.0 / 3.0).epsilon(1e-4));
  CHECK(pulls[place_of(movable, "power.limit")] == Approx(750.0 / 610.0 / 3.0).epsilon(1e-4));
  CHECK(pulls[place_of(movable, "power.idle")] == Approx(-140.0 / 610.0 / 3.0).epsilon(1e-4));
  CHECK(pulls[place_of(movable, "hbm.peak")] == Approx(0.0).margin(1e-9));
}

TEST_CASE("the spread between GPUs pulls the clock of the slowest", "[unit]") {
  const MovableExperiment movable(one_node());
  const Pulls pulls = clock_pulls(movable, {product(movable)}, 1.0);
  const double behind = behind_mean(movable.experiment().cluster);
  REQUIRE(behind > 0.0);
  CHECK(pulls[place_of(movable, "power.clock_spread")] ==
        Approx(-behind / (1.0 - behind)).epsilon(1e-4));
}

TEST_CASE("kernels at the peak do not answer to the limit, but take their part of it", "[unit]") {
  const MovableExperiment movable(one_node());
  // As much again at the peak: half of the power follows the clock, 3 in all of it 1.5.
  StepOp copies = product(movable);
  copies.below_peak = false;
  copies.price.numbers.clear();
  const Pulls pulls = clock_pulls(movable, {product(movable), copies}, 1.0);
  CHECK(pulls[place_of(movable, "power.limit")] == Approx(750.0 / 610.0 / 1.5).epsilon(1e-4));
  CHECK(pulls[place_of(movable, "power.matrix_energy.bf16")] == Approx(-0.5 / 1.5).epsilon(1e-4));
}

}  // namespace
}  // namespace stepcast::clock_pulls_test
