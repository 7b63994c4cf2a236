// SPDX-License-Identifier: Apache-2.0
#include "pages/page_charts.hpp"

#include <map>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/experiment/explain.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/report/step_reports.hpp"

namespace stepcast::page_charts_test {
namespace {

using Json = nlohmann::ordered_json;

Experiment experiment(const std::string& name, const std::vector<Override>& overrides = {}) {
  return load_experiment(test::data_root().folder / "examples" / name / "experiment.yaml",
                         overrides, test::data_root());
}

Json pipeline_of(const Experiment& of) {
  const CostModel cost = default_cost_model();
  return pipeline_chart(of, project(of, cost), cost);
}

TEST_CASE("The blocks of a pipeline rank do not overlap, and the last of all ends with the step",
          "[unit]") {
  const std::string schedule = GENERATE("1f1b", "interleaved_1f1b", "dualpipev", "zbv");
  CAPTURE(schedule);
  const Experiment of = experiment(
      "15_deepseek_v3_h100",
      {"plan.schedule=" + schedule, "plan.pp=8", schedule == "1f1b" ? "plan.vpp=1" : "plan.vpp=2"});
  const Json chart = pipeline_of(of);
  REQUIRE(chart.contains("rows"));
  CHECK(chart.at("blocks") == chart.at("rows").size());
  std::map<int, std::int64_t> ends;
  std::int64_t last = 0;
  for (const Json& row : chart.at("rows")) {
    const std::int64_t start = row.at(4);
    CHECK(start >= ends[row.at(0)]);
    ends[row.at(0)] = row.at(5);
    CHECK(start <= row.at(5).get<std::int64_t>());
    last = std::max(last, row.at(5).get<std::int64_t>());
  }
  CHECK(std::ssize(ends) == chart.at("ranks").get<std::int64_t>());
  // The host ends a step after its last kernel.
  const double step = chart.at("step_s").get<double>() * 1e6;
  CHECK(static_cast<double>(last) <= step + 1.0);
  CHECK(static_cast<double>(last) >= 0.999 * step);
}

TEST_CASE("Every micro-batch passes every stage forward and backward once", "[unit]") {
  const Experiment of = experiment("15_deepseek_v3_h100", {"plan.schedule=1f1b", "plan.vpp=1"});
  const CostModel cost = default_cost_model();
  const Projection projection = project(of, cost);
  const Json chart = pipeline_chart(of, projection, cost);
  std::map<std::tuple<int, int, int>, int> times;  // part, micro-batch, stage
  for (const Json& row : chart.at("rows")) {
    if (row.at(2) >= 0) {
      ++times[{row.at(1), row.at(2), row.at(3)}];
    }
  }
  CHECK(std::ssize(times) == 2 * projection.plan.micro_batches * projection.plan.pp);
  for (const auto& [pass, count] : times) {
    CHECK(count == 1);
  }
}

TEST_CASE("A pipeline of more passes than a page shows is left to a trace", "[unit]") {
  const Json chart = pipeline_of(experiment("12_llama3.1_405b_h100"));
  CHECK(chart.at("blocks").get<std::int64_t>() > kMostBlocks);
  CHECK(chart.at("trace") == true);
  CHECK_FALSE(chart.contains("rows"));
}

TEST_CASE("A step without a price has no charts", "[unit]") {
  const Experiment of = experiment("04_llama3.1_8b_mi300x", {"plan.tp=3"});
  const CostModel cost = default_cost_model();
  CHECK(projection_charts(of, project(of, cost), cost).is_null());
  CHECK(explanation_charts(of, explain(of, cost), cost).is_null());
}

TEST_CASE("No operator of a roofline is above its roof", "[unit]") {
  const Experiment of = experiment("04_llama3.1_8b_mi300x");
  const CostModel cost = default_cost_model();
  const Explanation explanation = explain(of, cost);
  const Json chart = operator_chart(of, explanation);
  REQUIRE(chart.at("peaks").size() == 1);
  const double peak = chart.at("peaks").at(0).at("flop_per_s");
  REQUIRE(!chart.at("operators").empty());
  for (const Json& one : chart.at("operators")) {
    const ExplainedOp& entry = explanation.operators.at(one.at("operator").get<std::size_t>());
    CAPTURE(std::string(name(entry.counted.op.id)));
    const double rate = one.at("flops").get<double>() / entry.cost.duration.value();
    // Two clocks around the step's own: kernels of a power limit have theirs.
    CHECK(rate < 1.1 * peak);
    CHECK(one.at("bytes").get<double>() > 0.0);
  }
}

TEST_CASE("A projection's page has what explain says of the same step", "[unit]") {
  const Experiment of = experiment("04_llama3.1_8b_mi300x");
  const CostModel cost = default_cost_model();
  const Projection projection = project(of, cost);
  const Json charts = projection_charts(of, projection, cost);
  const Json whole = to_json(explain(of, cost), Detail::kDuration);
  for (const char* key : {"operators", "bound_by", "sensitivities"}) {
    CHECK(charts.at("explanation").at(key) == whole.at(key));
  }
  CHECK(charts.at("capacity_bytes") == projection.memory_capacity.value());
}

}  // namespace
}  // namespace stepcast::page_charts_test
