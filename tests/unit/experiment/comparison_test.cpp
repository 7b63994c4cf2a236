// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/comparison.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/experiment/accuracy.hpp"
#include "stepcast/experiment/explain.hpp"
#include "stepcast/report/comparison_report.hpp"
#include "stepcast/report/projection_report.hpp"

namespace stepcast::comparison_test {
namespace {

using test::contains_text;
using test::data_root;

std::filesystem::path example() {
  return data_root().folder / "examples/01_llama3.1_70b_mi300x/experiment.yaml";
}

Experiment with(const std::vector<Override>& overrides) {
  return load_experiment(example(), overrides, data_root());
}

Explanation explained(const std::string& name, const std::string& clock) {
  const std::filesystem::path file = data_root().folder / "examples" / name / "experiment.yaml";
  return explain(load_experiment(file, {"cluster.gpu_clock=" + clock}, data_root()),
                 default_cost_model());
}

Projection projected(const Experiment& experiment) {
  Projection p = project(experiment, default_cost_model());
  p.expected_error = expected_error(load_accuracy(data_root()), experiment);
  return p;
}

ComparedColumn column(const std::string& gpu, double rate, std::optional<double> gpu_hour = {}) {
  ComparedColumn made;
  made.options = {{"gpu", gpu}};
  made.projection.model = "sample";
  made.projection.gpu = gpu;
  made.projection.priced = true;
  made.projection.tokens_per_second_per_gpu = rate;
  made.projection.time.step = Seconds(1.0);
  made.projection.memory.emplace_back();
  made.projection.memory_capacity = Bytes(1e9);
  if (gpu_hour) {
    made.projection.gpu_hour = GpuHourPrice{*gpu_hour};
  }
  return made;
}

TEST_CASE("every column of a comparison is the projection of its own", "[unit]") {
  std::vector<Experiment> experiments;
  for (const char* gpu : {"mi300x", "mi325x", "h100_sxm", "h200_sxm", "b200"}) {
    experiments.push_back(with({std::string("cluster.gpu=") + gpu}));
  }
  for (const char* clock : {"1200 MHz", "1500 MHz", "2100 MHz"}) {
    experiments.push_back(with({std::string("cluster.gpu_clock=") + clock}));
  }
  const std::vector<Projection> together =
      projections_of(experiments, default_cost_model(), load_accuracy(data_root()));
  REQUIRE(together.size() == experiments.size());
  for (std::size_t i = 0; i < experiments.size(); ++i) {
    CAPTURE(i);
    CHECK(to_json(together[i]).dump() == to_json(projected(experiments[i])).dump());
  }
}

// Twice the clock halves what the units do and leaves what memory and links do. Operators whose
// tile changes with the clock are left out. At both clocks the same rank of a pipeline is the
// slowest.
TEST_CASE("a locked clock moves the terms of the units and no others", "[unit]") {
  constexpr std::array<std::string_view, 6> kUnits = {"prologue", "k_loop",  "epilogue",
                                                      "products", "softmax", "compute"};
  constexpr std::array<std::string_view, 7> kOthers = {
      "launch", "start_up", "ramp", "latency", "scale_up", "scale_out", "query_gradients"};
  const auto among = [](const auto& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const std::string name =
      GENERATE("01_llama3.1_70b_mi300x", "12_llama3.1_405b_h100", "14_deepseek_v3_h800");
  CAPTURE(name);
  const Explanation slow = explained(name, "900 MHz");
  const Explanation fast = explained(name, "1800 MHz");
  int units = 0;
  int others = 0;
  for (const ExplainedOp& entry : slow.operators) {
    const auto same = std::find_if(
        fast.operators.begin(), fast.operators.end(), [&entry](const ExplainedOp& other) {
          return other.counted.op == entry.counted.op && other.counted.pass == entry.counted.pass;
        });
    REQUIRE(same != fast.operators.end());
    if (entry.cost.tiling.rows != same->cost.tiling.rows ||
        entry.cost.tiling.cols != same->cost.tiling.cols) {
      continue;
    }
    const bool by_memory = std::holds_alternative<MemoryBound>(entry.counted.op.work) &&
                           entry.cost.bound == Bound::kMemory && same->cost.bound == Bound::kMemory;
    for (std::size_t i = 0; i < entry.cost.terms.size(); ++i) {
      const CostTerm& term = entry.cost.terms[i];
      const double at_fast = same->cost.terms[i].duration.value();
      CAPTURE(stepcast::name(entry.counted.op.id), term.name);
      if (among(kUnits, term.name) && at_fast > 0.0) {
        CHECK(term.duration.value() == Approx(2.0 * at_fast).epsilon(1e-9));
        ++units;
      } else if (among(kOthers, term.name) || (by_memory && term.name == "memory")) {
        CHECK(term.duration.value() == at_fast);
        ++others;
      }
    }
  }
  CHECK(units > 20);
  CHECK(others > 40);
}

TEST_CASE("a lower power limit is a slower column, by the ratio of its own projection", "[unit]") {
  const auto limited = [](const char* watts) {
    return with({"cluster.gpu=h100_sxm", std::string("cluster.power_limit=") + watts});
  };
  const std::vector<Projection> both =
      projections_of({limited("700 W"), limited("500 W")}, default_cost_model(), {});
  const double ratio = both[1].tokens_per_second_per_gpu / both[0].tokens_per_second_per_gpu;
  CHECK(ratio < 0.95);
  CHECK(ratio == projected(limited("500 W")).tokens_per_second_per_gpu /
                     projected(limited("700 W")).tokens_per_second_per_gpu);
  CHECK(both[1].clock < both[0].clock);
}

TEST_CASE("the price of a million tokens is that of the GPU-seconds they take", "[unit]") {
  // 1000 tokens/s at 3.6 an hour: a million take 1000 s, at 0.001 a second.
  CHECK(*column("a", 1000.0, 3.6).price_per_million_tokens() == Approx(1.0).epsilon(1e-12));
  CHECK_FALSE(column("a", 1000.0).price_per_million_tokens());
}

TEST_CASE("columns are related to the first that was timed", "[unit]") {
  ComparedColumn refused = column("a", 0.0);
  refused.projection.priced = false;
  refused.projection.reasons = {"needs more"};
  const std::vector<ComparedColumn> columns = {refused, column("b", 100.0, 3.6),
                                               column("c", 150.0)};
  const nlohmann::ordered_json json = comparison_to_json(columns, "1");
  CHECK_FALSE(json.at("comparison")[0].contains("ratio"));
  CHECK(json.at("comparison")[1].at("ratio") == 1.0);
  CHECK(json.at("comparison")[2].at("ratio") == 1.5);
  CHECK(json.at("comparison")[1].at("price_per_million_tokens") == Approx(10.0));
  CHECK(json.at("feasible") == true);
  const std::string text = comparison_to_text(columns);
  CHECK_THAT(text, contains_text("ratio to b"));
  CHECK_THAT(text, contains_text("a: needs more"));
}

TEST_CASE("every line of a comparison's CSV has the cells of its header", "[unit]") {
  ComparedColumn refused = column("a", 0.0);
  refused.projection.priced = false;
  const std::string text = comparison_to_csv({refused, column("b", 100.0, 3.6)});
  std::vector<std::ptrdiff_t> commas;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    commas.push_back(std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                                text.begin() + static_cast<std::ptrdiff_t>(end), ','));
    at = end + 1;
  }
  REQUIRE(commas.size() == 3);
  CHECK(commas[0] == commas[1]);
  CHECK(commas[0] == commas[2]);
}

}  // namespace
}  // namespace stepcast::comparison_test
