// SPDX-License-Identifier: Apache-2.0
#include "stepcast/result/explanation.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/experiment/explain.hpp"
#include "stepcast/report/step_reports.hpp"

namespace stepcast::difference_test {
namespace {

Explanation explained(const std::string& name, const std::vector<Override>& overrides = {}) {
  const std::filesystem::path file =
      test::data_root().folder / "examples" / name / "experiment.yaml";
  return explain(load_experiment(file, overrides, test::data_root()), default_cost_model());
}

const DifferenceTerm& term(const Difference& d, const std::string& name) {
  return *std::find_if(d.terms.begin(), d.terms.end(),
                       [&](const DifferenceTerm& entry) { return entry.name == name; });
}

TEST_CASE("the terms of a difference add up to it", "[property]") {
  const Explanation first = explained("01_llama3.1_70b_mi300x");
  for (const char* name : {"02_llama2_7b_mi300x", "11_deepseek_v3_mi300x", "12_llama3.1_405b_h100",
                           "13_mixtral_8x22b_h100", "18_gpt3_175b_a100"}) {
    CAPTURE(name);
    const Explanation second = explained(name);
    const Difference d = difference_of(first, second);
    double sum = 0.0;
    for (const DifferenceTerm& entry : d.terms) {
      sum += entry.difference();
    }
    CHECK(sum == Approx(d.total.difference()).epsilon(1e-9));
    CHECK(d.total.first == 1e6 / first.projection.tokens_per_second_per_gpu);
    CHECK(d.total.second == 1e6 / second.projection.tokens_per_second_per_gpu);
  }
}

TEST_CASE("an experiment does not differ from itself", "[unit]") {
  const Explanation same = explained("14_deepseek_v3_h800");
  const Difference d = difference_of(same, same);
  CHECK(d.total.difference() == 0.0);
  for (const DifferenceTerm& entry : d.terms) {
    CHECK(entry.difference() == 0.0);
  }
}

TEST_CASE("slower memory shows in the kernels that it bounds", "[unit]") {
  const std::vector<Override> locked = {"cluster.gpu_clock=1.2 GHz"};
  std::vector<Override> half = locked;
  half.emplace_back("cluster.scale.hbm_bandwidth=0.5");
  const Difference d = difference_of(explained("01_llama3.1_70b_mi300x", locked),
                                     explained("01_llama3.1_70b_mi300x", half));
  CHECK(d.total.difference() > 0.0);
  // A kernel's launch and ramp are not slower.
  CHECK(term(d, "memory_bound").second > 1.8 * term(d, "memory_bound").first);
  CHECK(term(d, "memory_bound").second <= 2.0 * term(d, "memory_bound").first);
  CHECK(term(d, "optimizer").second > 1.8 * term(d, "optimizer").first);
  // Attention reads little.
  CHECK(term(d, "attention").second < 1.1 * term(d, "attention").first);
  CHECK(std::is_sorted(d.operators.begin(), d.operators.end(),
                       [](const DifferenceTerm& a, const DifferenceTerm& b) {
                         return std::abs(a.difference()) > std::abs(b.difference());
                       }));
}

TEST_CASE("without a time there is no difference, only reasons", "[unit]") {
  const Explanation good = explained("01_llama3.1_70b_mi300x");
  const Explanation refused =
      explained("01_llama3.1_70b_mi300x", {"training.global_batch_size=100"});
  CHECK_THAT(difference_to_text(good, refused), test::contains_text("This plan cannot run"));
  const nlohmann::ordered_json json = difference_to_json(good, refused);
  CHECK_FALSE(json.contains("difference"));
  CHECK(json.at("feasible") == false);
}

TEST_CASE("what limits a step adds up to it", "[property]") {
  for (const std::filesystem::path& file : test::shipped_experiments()) {
    INFO(file);
    const Explanation e =
        explain(load_experiment(file, {}, test::data_root()), default_cost_model());
    Seconds limits;
    for (const LimitedTime& entry : e.limits) {
      limits += entry.time;
    }
    CHECK(limits.value() == Approx(e.projection.time.step.value()).epsilon(1e-9));
    Seconds path;
    for (const PathSegment& segment : e.path) {
      path += segment.time;
    }
    CHECK(path.value() == Approx(e.projection.time.step.value()).epsilon(1e-9));
  }
}

}  // namespace
}  // namespace stepcast::difference_test
