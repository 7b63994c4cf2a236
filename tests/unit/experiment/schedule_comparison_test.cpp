// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/comparison.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/report/projection_report.hpp"
#include "stepcast/report/step_reports.hpp"

namespace stepcast::schedule_comparison_test {
namespace {

using test::contains_text;

// Llama 3.1 70B has 80 layers: 8 ranks of 10, or of twice 5.
std::vector<Projection> compared(const std::string& plan) {
  const ConfigNode root = parse_config(
      "model: llama3.1_70b\n"
      "cluster: {gpu: h100_sxm, nodes: 8}\n"
      "training: {sequence_length: 4096, micro_batch_size: 1, global_batch_size: 32}\n"
      "plan: " +
          plan + "\n",
      "test");
  return compare_schedules(read_experiment(root, "", test::data_root()), default_cost_model());
}

const Projection& of(const std::vector<Projection>& projections, Schedule schedule) {
  return *std::find_if(projections.begin(), projections.end(),
                       [&](const Projection& p) { return p.plan.schedule == schedule; });
}

TEST_CASE("a comparison prices every schedule with the chunks that it needs", "[unit]") {
  const std::vector<Projection> all = compared("{tp: 8, pp: 8}");
  REQUIRE(all.size() == names_of<Schedule>().size());
  for (const Projection& p : all) {
    CAPTURE(name(p.plan.schedule));
    REQUIRE(p.priced);
  }
  CHECK(of(all, Schedule::kZbV).plan.vpp == 2);
  CHECK(of(all, Schedule::kDualPipe).plan.vpp == 1);
  const auto step = [&](Schedule schedule) { return of(all, schedule).time.step; };
  CHECK(step(Schedule::kZbV) < step(Schedule::kZbH1));
  CHECK(step(Schedule::kZbH1) < step(Schedule::kOneFOneB));
  CHECK(of(all, Schedule::kVMin).peak_memory() < of(all, Schedule::kZbV).peak_memory());
  // Every stage lies on two ranks.
  CHECK(of(all, Schedule::kDualPipe).memory[3].parameters >
        1.9 * of(all, Schedule::kOneFOneB).memory[3].parameters);
}

TEST_CASE("schedules that a plan does not allow are listed with their reasons", "[unit]") {
  const std::vector<Projection> all = compared("{tp: 8, zero: 3}");
  const std::string text = schedules_to_text(all);
  CHECK_THAT(text, contains_text("schedule zbv needs pp > 1"));
  CHECK_THAT(text, contains_text("schedule dualpipe needs an even pp"));
  const nlohmann::ordered_json json = schedules_to_json(all);
  REQUIRE(json.at("schedules").size() == all.size());
  for (const auto& row : json.at("schedules")) {
    CHECK(row.contains("step_time_s") ==
          (row.at("schedule") != "dualpipe" && row.at("schedule") != "dualpipev" &&
           row.at("schedule") != "zbv" && row.at("schedule") != "v_half" &&
           row.at("schedule") != "v_min"));
  }
}

TEST_CASE("every schedule that has a rate has the interval that it is expected in", "[unit]") {
  std::vector<Projection> all = compared("{tp: 8, pp: 8}");
  ExpectedError expected;
  expected.distribution = ErrorDistribution{.centre = 0.0, .spread = 0.1, .degrees = 1e9};
  all.front().expected_error = expected;
  const std::string text = schedules_to_text(all);
  CHECK_THAT(text, contains_text("80 % interval"));
  // exp(0.1 * 1.2816) = 1.1367
  const double rate = all.front().tokens_per_second_per_gpu;
  const RateInterval interval = expected.distribution->interval(Certainty::k80);
  const RateInterval of_90 = expected.distribution->interval(Certainty::k90);
  CHECK(interval.high == test::nearly(1.1367).epsilon(1e-4));
  CHECK_THAT(text, contains_text(interval_text(expected, rate, Certainty::k80)));
  const std::string csv = schedules_to_csv(all);
  const std::string first = csv.substr(csv.find('\n') + 1);
  CHECK_THAT(csv, Catch::Matchers::StartsWith("schedule,vpp,feasible,tokens_per_second_per_gpu,"));
  CHECK_THAT(first.substr(0, first.find('\n')),
             Catch::Matchers::EndsWith("," + shortest_text(interval.low) + "," +
                                       shortest_text(interval.high) + "," +
                                       shortest_text(of_90.low) + "," + shortest_text(of_90.high)));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == std::ssize(all) + 1);
  const auto cells =
      std::count(csv.begin(), csv.begin() + static_cast<std::ptrdiff_t>(csv.find('\n')), ',');
  CHECK(std::count(csv.begin(), csv.end(), ',') == cells * (std::ssize(all) + 1));
}

}  // namespace
}  // namespace stepcast::schedule_comparison_test
