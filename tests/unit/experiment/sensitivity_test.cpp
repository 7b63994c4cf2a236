// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/sensitivity.hpp"

#include <algorithm>
#include <cmath>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/experiment/project.hpp"

namespace stepcast::sensitivity_test {
namespace {

using test::data_root;

std::filesystem::path example(const std::string& name) {
  return data_root().folder / "examples" / name / "experiment.yaml";
}

double rate_of(const std::filesystem::path& file, const std::vector<Override>& overrides) {
  return project(load_experiment(file, overrides, data_root()), default_cost_model())
      .tokens_per_second_per_gpu;
}

std::vector<Sensitivity> sensitivities_of(const std::filesystem::path& file,
                                          const std::vector<Override>& overrides = {}) {
  const Experiment experiment = load_experiment(file, overrides, data_root());
  const CostModel cost = default_cost_model();
  return sensitivities(experiment, project(experiment, cost), cost);
}

TEST_CASE("a sensitivity is what two projections say", "[unit]") {
  for (const char* name :
       {"01_llama3.1_70b_mi300x", "12_llama3.1_405b_h100", "14_deepseek_v3_h800"}) {
    const std::filesystem::path file = example(name);
    const std::vector<Sensitivity> all = sensitivities_of(file);
    REQUIRE(all.size() == 7);
    for (const Sensitivity& s : all) {
      CAPTURE(name, s.resource);
      if (s.resource == "clock") {
        CHECK(s.from == rate_of(file, {"cluster.gpu_clock=" + format_quantity(s.from_clock)}));
        CHECK(s.to == rate_of(file, {"cluster.gpu_clock=" + format_quantity(s.to_clock)}));
      } else {
        CHECK(s.from == rate_of(file, {}));
        CHECK(s.to == rate_of(file, {"cluster.scale." + std::string(s.resource) + "=1.01"}));
      }
    }
  }
}

TEST_CASE("one per cent more of all that a step needs is one per cent more tokens", "[property]") {
  // At a locked clock, so that nothing is given back to the power limit.
  const std::string clock = "cluster.gpu_clock=1.4 GHz";
  for (const char* name : {"01_llama3.1_70b_mi300x", "12_llama3.1_405b_h100", "14_deepseek_v3_h800",
                           "11_deepseek_v3_mi300x"}) {
    double sum = 0.0;
    for (const Sensitivity& s : sensitivities_of(example(name), {clock})) {
      CAPTURE(name, s.resource, s.change_percent());
      const bool costs = s.of_time;
      CHECK((costs ? -1.0 : 1.0) * s.change_percent() >= -1e-6);
      CHECK(std::abs(s.change_percent()) <= 1.001);
      // Matrix units are part of what the clock makes faster.
      sum += s.resource == "matrix_rate" ? 0.0 : std::abs(s.change_percent());
    }
    CHECK(sum > 0.85);
    CHECK(sum < 1.02);
  }
}

TEST_CASE("a clock beyond the peak is taken from below", "[unit]") {
  const Sensitivity at_peak =
      sensitivities_of(example("01_llama3.1_70b_mi300x"), {"cluster.gpu_clock=2.1 GHz"}).back();
  CHECK(at_peak.to_clock == Hertz(2.1e9));
  CHECK(at_peak.from_clock.value() == Approx(2.1e9 / 1.01));
  const Sensitivity below =
      sensitivities_of(example("01_llama3.1_70b_mi300x"), {"cluster.gpu_clock=1 GHz"}).back();
  CHECK(below.from_clock == Hertz(1e9));
  CHECK(below.to_clock.value() == Approx(1.01e9));
}

TEST_CASE("a plan that does not divide has no sensitivities", "[unit]") {
  CHECK(sensitivities_of(example("01_llama3.1_70b_mi300x"), {"training.global_batch_size=100"})
            .empty());
}

}  // namespace
}  // namespace stepcast::sensitivity_test
