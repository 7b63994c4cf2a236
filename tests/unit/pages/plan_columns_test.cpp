// SPDX-License-Identifier: Apache-2.0
#include "pages/plan_columns.hpp"

#include "catch.hpp"
#include "pages/svg_plot.hpp"
#include "stepcast/report/plan_lines.hpp"
#include "sweep_text.hpp"

namespace stepcast::plan_columns_test {
namespace {

using Json = nlohmann::ordered_json;

SweepSpace small_space() {
  return test::sweep_of(test::small_sweep(
      ", global_batch_size: 16, micro_batch_size: [1, 2]",
      "{tp: [1, 2], pp: [1, 2], schedule: [1f1b, {schedule: interleaved_1f1b, vpp: 2}]}",
      "description: \"A <small> & 'quoted' sweep\"\n"));
}

SweepSummary summary_of(const SweepSpace& space, std::size_t top) {
  SweepTally tally(space, top);
  tally.add(test::evaluated(space));
  return tally.summary();
}

Json value_of(const Json& columns, const std::string& key, std::size_t plan) {
  for (const Json& column : columns.at("columns")) {
    if (column.at("key") == key) {
      return column.contains("all") ? column.at("all")
             : column.contains("values")
                 ? column.at("values").at(plan)
                 : column.at("names").at(column.at("places").at(plan).get<std::size_t>());
    }
  }
  return "no such column";
}

TEST_CASE("The columns of plans say what their lines do, in six digits", "[unit]") {
  const SweepSpace space = small_space();
  const SweepSummary summary = summary_of(space, 100);
  const std::vector<PlanNumbers> plans = plans_of_page(summary);
  REQUIRE(plans.size() == summary.best.size());
  const Json columns = plan_columns(space, plans);
  CHECK(columns.at("plans") == plans.size());
  const PlanLines lines(space);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const Json line = Json::parse(lines.json(plans[i]));
    CHECK(value_of(columns, "index", i) == line.at("index"));
    CHECK(value_of(columns, "plan.tp", i) == line.at("plan").at("tp"));
    CHECK(value_of(columns, "axes.plan.schedule", i) == line.at("axes").at("plan.schedule"));
    CHECK(value_of(columns, "axes.plan.vpp", i) == line.at("axes").at("plan.vpp"));
    CHECK(value_of(columns, "plan.sequence_parallel", i) ==
          line.at("plan").at("sequence_parallel"));
    const double rate = line.at("tokens_per_second_per_gpu");
    CHECK(value_of(columns, "tokens_per_second_per_gpu", i).get<double>() ==
          Approx(rate).epsilon(5.1e-6));
    CHECK(value_of(columns, "time.compute_s", i).get<double>() ==
          Approx(line.at("time").at("compute_s").get<double>()).epsilon(5.1e-6));
  }
}

TEST_CASE("A column with one value has it once", "[unit]") {
  const SweepSpace space = small_space();
  const Json columns = plan_columns(space, plans_of_page(summary_of(space, 100)));
  for (const Json& column : columns.at("columns")) {
    CAPTURE(column.at("key").get<std::string>());
    CHECK((column.contains("all") || column.size() == 3 || column.at("values").size() > 1));
  }
  CHECK(value_of(columns, "plan.cp", 0) == 1);
}

TEST_CASE("The plans of the fronts are among those of a page, each once", "[unit]") {
  const SweepSpace space = small_space();
  const SweepSummary summary = summary_of(space, 1);
  const std::vector<PlanNumbers> plans = plans_of_page(summary);
  REQUIRE(summary.memory_front.size() > 1);
  CHECK(plans.size() == summary.memory_front.size());
  CHECK(plans.front().plan == summary.best.front().plan);
  for (const PlanNumbers& numbers : summary.memory_front) {
    CHECK(std::count_if(plans.begin(), plans.end(), [&numbers](const PlanNumbers& one) {
            return one.plan == numbers.plan;
          }) == 1);
  }
}

TEST_CASE("A picture of plans has a point for each and one more for each of the front", "[unit]") {
  const SweepSummary summary = summary_of(small_space(), 100);
  const std::string text = plans_to_svg("a <b> & c", summary.best, summary.memory_front);
  std::size_t circles = 0;
  for (std::size_t at = text.find("<circle"); at != std::string::npos;
       at = text.find("<circle", at + 1)) {
    ++circles;
  }
  CHECK(circles == summary.best.size() + summary.memory_front.size());
  CHECK(text.find("<title>a &lt;b&gt; &amp; c</title>") != std::string::npos);
  CHECK(text.find("nan") == std::string::npos);
  CHECK(plans_to_svg("nothing", {}, {}).find("<circle") == std::string::npos);
}

}  // namespace
}  // namespace stepcast::plan_columns_test
