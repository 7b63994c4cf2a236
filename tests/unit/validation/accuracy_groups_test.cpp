// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/accuracy_groups.hpp"

#include <algorithm>

#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast::accuracy_groups_test {
namespace {

using test::config_error;
using test::contains_text;

ValidationRow run(const std::string& id, const std::string& gpu, const std::string& source,
                  double predicted) {
  ValidationRow row;
  row.id = id;
  row.gpu = gpu;
  row.metric = Metric::kTokenRate;
  row.measured = 100.0;
  row.predicted = predicted;
  row.traits.emplace();
  row.traits->gpu = gpu;
  row.traits->software = "megatron";
  row.traits->source = source;
  return row;
}

// Errors of 10, -20 and 30 %.
std::vector<ValidationRow> three_runs() {
  return {run("a", "h100_sxm", "x", 110.0), run("b", "h100_sxm", "y", 80.0),
          run("c", "mi300x", "x", 130.0)};
}

const AccuracyGroup& named(const std::vector<AccuracyGroup>& groups, AccuracyAxis axis,
                           const std::string& name) {
  const auto found = std::ranges::find_if(
      groups, [&](const AccuracyGroup& group) { return group.axis == axis && group.name == name; });
  REQUIRE(found != groups.end());
  return *found;
}

TEST_CASE("runs are put together by each thing that they have in common", "[unit]") {
  const std::vector<AccuracyGroup> groups = accuracy_groups(three_runs());
  const AccuracyGroup& all = groups.front();
  CHECK(all.axis == AccuracyAxis::kAll);
  CHECK(all.runs == 3);
  CHECK(all.sources == 2);
  CHECK(all.median_abs_error == Approx(0.2));
  CHECK(all.bias == Approx(0.2 / 3.0));
  CHECK_FALSE(all.inside_80);
  const AccuracyGroup& h100 = named(groups, AccuracyAxis::kGpu, "h100_sxm");
  CHECK(h100.runs == 2);
  CHECK(h100.median_abs_error == Approx(0.15));
  CHECK(named(groups, AccuracyAxis::kSource, "x").runs == 2);
}

TEST_CASE("a time counts as the rate that it makes, and each run once", "[unit]") {
  ValidationRow timed = run("a", "h100_sxm", "x", 80.0);  // 80 s for 100 s: 25 % too fast
  timed.metric = Metric::kStepTime;
  const std::vector<AccuracyGroup> groups =
      accuracy_groups({timed, run("a", "h100_sxm", "x", 125.0)});
  CHECK(groups.front().runs == 1);
  CHECK(groups.front().bias == Approx(0.25));
}

TEST_CASE("a group is worse if its median rose by two points and it has runs enough", "[unit]") {
  std::vector<ValidationRow> rows;
  for (int i = 0; i < 5; ++i) {
    rows.push_back(run(std::to_string(i), "h100_sxm", "x", 110.0));
  }
  rows.push_back(run("few", "mi300x", "x", 150.0));
  std::vector<AccuracyGroup> groups = accuracy_groups(rows);
  compare_groups(R"({"groups": [{"axis": "gpu", "name": "h100_sxm", "median_abs_error": 0.07},
      {"axis": "family", "name": "dense", "median_abs_error": 0.09},
      {"axis": "gpu", "name": "mi300x", "median_abs_error": 0.1}]})",
                 "before.json", groups);
  const std::vector<AccuracyGroup> worse = worse_groups(groups);
  REQUIRE(worse.size() == 1);
  CHECK(worse.front().name == "h100_sxm");
  CHECK(*worse.front().median_before == 0.07);
}

TEST_CASE("what is no earlier report is refused with its place", "[unit]") {
  std::vector<AccuracyGroup> groups = accuracy_groups(three_runs());
  CHECK_THAT(config_error([&] { compare_groups("{}", "a.json", groups); }),
             contains_text("a.json: error: has no 'groups'"));
  CHECK_THAT(
      config_error([&] { compare_groups(R"({"groups": [{"axis": "gpu"}]})", "a.json", groups); }),
      contains_text("median_abs_error"));
}

}  // namespace
}  // namespace stepcast::accuracy_groups_test
