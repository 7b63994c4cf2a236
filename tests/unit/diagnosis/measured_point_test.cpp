// SPDX-License-Identifier: Apache-2.0
#include "stepcast/diagnosis/measured_point.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast::measured_point_test {
namespace {

using Catch::Matchers::Contains;

std::string problem_of(std::string_view text) {
  return test::config_error([text] { parse_point(text); });
}

TEST_CASE("a point is settings, a colon and a figure", "[unit]") {
  const MeasuredPoint point = parse_point("plan.tp=2,training.micro_batch_size=4:1.93s");
  CHECK(point.settings == KeySettings{{"plan.tp", "2"}, {"training.micro_batch_size", "4"}});
  CHECK(point.measured.metric == Metric::kStepTime);
  CHECK(point.measured.value == 1.93);
}

TEST_CASE("commas and colons inside a value are of the value", "[unit]") {
  const MeasuredPoint point =
      parse_point("training.documents={length: 512, packed: true},plan.tp=2:200tok/s");
  CHECK(point.settings ==
        KeySettings{{"training.documents", "{length: 512, packed: true}"}, {"plan.tp", "2"}});
}

TEST_CASE("a point without a figure, or with what is no setting, says what to write", "[unit]") {
  CHECK_THAT(problem_of("plan.tp=2"), Contains("write settings, a colon and a figure"));
  CHECK_THAT(problem_of("plan.tp=2:fast"), Contains("plan.tp=2:1.93s"));
  CHECK_THAT(problem_of("tp:1.93s"), Contains("'tp' is no setting"));
  CHECK_THAT(problem_of(":1.93s"), Contains("'' is no setting"));
  CHECK_THAT(problem_of("plan.tp=:1.93s"), Contains("'plan.tp=' is no setting"));
}

TEST_CASE("a row of a table has its settings and a point for each figure", "[unit]") {
  Diagnostics diagnostics;
  const std::vector<MeasuredPoint> points = points_of(
      {{"t.csv", 2, 0}, {{"plan.tp", "2"}, {"step", "1.93s"}, {"memory", "43.5GiB"}}}, diagnostics);
  CHECK(diagnostics.empty());
  REQUIRE(points.size() == 2);
  CHECK(points[0].measured.metric == Metric::kStepTime);
  CHECK(points[1].measured.metric == Metric::kPeakMemory);
  CHECK(points[1].settings == KeySettings{{"plan.tp", "2"}});
}

TEST_CASE("columns that nobody knows, cells that are no figure and empty rows are told", "[unit]") {
  Diagnostics diagnostics;
  points_of({{"t.csv", 2, 0}, {{"tp", "2"}, {"step", "fast"}}}, diagnostics);
  REQUIRE(diagnostics.entries().size() == 3);
  CHECK_THAT(diagnostics.entries()[0].message, Contains("neither a key of an experiment"));
  CHECK_THAT(diagnostics.entries()[1].message, Contains("'fast' under 'step'"));
  CHECK_THAT(diagnostics.entries()[2].message, Contains("nothing is measured in this row"));
}

}  // namespace
}  // namespace stepcast::measured_point_test
