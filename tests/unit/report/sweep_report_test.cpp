// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/sweep_report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "catch.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/report/plan_lines.hpp"
#include "stepcast/report/projection_report.hpp"
#include "stepcast/report/scatter_plot.hpp"
#include "sweep_text.hpp"

namespace stepcast::sweep_report_test {
namespace {

using test::contains_text;
using Json = nlohmann::ordered_json;

SweepSpace small_space() {
  return test::sweep_of(test::small_sweep(
      ", global_batch_size: 16, micro_batch_size: [1, 2]",
      "{tp: [1, 2, 3], pp: [1, 2], schedule: [1f1b, {schedule: interleaved_1f1b, vpp: 2}]}",
      "description: \"A small, \\\"quoted\\\" sweep\"\nsoftware: [megatron, {base: megatron, "
      "async_tp: true}]\n"));
}

const std::vector<HeldOutRun> kNoRuns;

std::string text_of(const SweepSpace& space, const SweepSummary& summary) {
  PlanErrors errors(space, kNoRuns);
  return sweep_to_text(space, summary, errors);
}

SweepSummary summary_of(const SweepSpace& space, std::size_t top) {
  SweepTally tally(space, top);
  tally.add(test::evaluated(space));
  return tally.summary();
}

std::string json_of(const SweepSpace& space, const SweepSummary& summary) {
  std::string text;
  PlanErrors errors(space, kNoRuns);
  write_sweep_json([&text](std::string_view piece) { text += piece; }, space, summary, errors);
  return text;
}

// Fields of a line of CSV, quotes taken off.
std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

}  // namespace

TEST_CASE("A sweep notes the assumed constants of the exchanges that its plans use", "[unit]") {
  const auto notes = [](const std::string& gpu) {
    const SweepSpace space = test::sweep_of(
        "model: deepseek_v2_lite\ncluster: {gpu: " + gpu +
        "}\ntraining: {sequence_length: 4096, micro_batch_size: 1, global_batch_size: 64}\n"
        "plan: {ep: [4, 8], dispatcher: deepep}\n");
    const SweepSummary summary = summary_of(space, 5);
    REQUIRE(summary.priced == 2);
    const Json json = Json::parse(json_of(space, summary));
    const auto texts = json.at("context").at("notes").get<std::vector<std::string>>();
    for (const std::string& text : texts) {
      CHECK_THAT(text_of(space, summary), contains_text(text));
    }
    return texts;
  };
  const std::vector<std::string> of_amd = notes("mi300x");
  REQUIRE(of_amd.size() == 1);
  CHECK(of_amd[0].starts_with("exchange constants of deepep on mi300x assumed, 11 of 19: "));
  CHECK(notes("h100_sxm").empty());
}

TEST_CASE("A line of JSON says what project says, bit for bit", "[unit]") {
  const SweepSpace space = small_space();
  const PlanLines lines(space);
  const ChunkResult all = test::evaluated(space);
  REQUIRE(all.priced.size() > 10);
  for (const PlanNumbers& numbers : all.priced) {
    const std::string line = lines.json(numbers);
    const Json read = Json::parse(line);
    const Json whole = to_json(project(space.experiment(numbers.plan), default_cost_model()));
    CHECK(read.at("index") == numbers.plan);
    // The context has besides what makes it an experiment that can be projected again.
    for (const auto& [key, value] : read.at("plan").items()) {
      INFO(key);
      CHECK(value.dump() == whole.at("context").at("input").at("plan").at(key).dump());
    }
    for (const char* key : {"tokens_per_second_per_gpu", "step_time_s", "model_tflops_per_gpu",
                            "mfu", "peak_memory_bytes", "time", "clock_mhz", "power_w"}) {
      INFO(key);
      CHECK(read.at(key).dump() == whole.at(key).dump());
    }
    // As nlohmann would write it.
    CHECK(read.dump() == line);
  }
}

TEST_CASE("Axes stand in a line as they were written", "[unit]") {
  const SweepSpace space = small_space();
  const PlanLines lines(space);
  const Json first = Json::parse(lines.json(PlanNumbers{}));
  CHECK(first.at("axes").at("plan.tp") == 1);
  CHECK(first.at("axes").at("plan.schedule") == "1f1b");
  CHECK(first.at("axes").at("plan.vpp").is_null());
  CHECK(first.at("axes").at("software") == "megatron");
}

TEST_CASE("A line of CSV has a field for each column, and the numbers of JSON", "[unit]") {
  const SweepSpace space = small_space();
  const PlanLines lines(space);
  const std::vector<std::string> header = fields_of(lines.csv_header());
  const ChunkResult all = test::evaluated(space);
  for (const PlanNumbers& numbers : all.priced) {
    const std::vector<std::string> fields = fields_of(lines.csv(numbers));
    REQUIRE(fields.size() == header.size());
    const Json read = Json::parse(lines.json(numbers));
    const auto field = [&](const std::string& column) {
      const auto at = std::find(header.begin(), header.end(), column);
      REQUIRE(at != header.end());
      return fields[static_cast<std::size_t>(at - header.begin())];
    };
    CHECK(field("index") == std::to_string(numbers.plan));
    CHECK(field("step_time_s") == read.at("step_time_s").dump());
    CHECK(field("time.compute_s") == read.at("time").at("compute_s").dump());
    CHECK(field("tp") == read.at("plan").at("tp").dump());
    CHECK(field("software") ==
          (numbers.plan < space.size() / 2 ? "megatron" : "{base: megatron, async_tp: true}"));
  }
  // No model has experts.
  CHECK(lines.csv_header().find("expert_exchange") == std::string::npos);
}

TEST_CASE("Experts have their exchange in CSV", "[unit]") {
  const SweepSpace space = test::sweep_of(
      "model: mixtral_8x7b\ncluster: {gpu: h100_sxm, nodes: 2}\n"
      "training: {sequence_length: 4096, global_batch_size: 64}\nplan: {ep: [4, 8], zero: 1}\n");
  const PlanLines lines(space);
  CHECK_THAT(lines.csv_header(), contains_text(",expert_exchange.num_sms,"));
  CHECK(fields_of(lines.csv_header()).size() == fields_of(lines.csv(PlanNumbers{})).size());
}

TEST_CASE("The JSON report holds the ranked plans, the fronts and the refusals", "[unit]") {
  const SweepSpace space = small_space();
  const SweepSummary summary = summary_of(space, 5);
  const Json json = Json::parse(json_of(space, summary));
  CHECK(json.at("schema_version") == kJsonSchemaVersion);
  CHECK(json.at("space_size") == space.size());
  CHECK(json.at("evaluated") == space.size());
  CHECK(json.at("context").at("rank_by") == "tokens_per_second_per_gpu");
  CHECK(json.at("context").at("description") == "A small, \"quoted\" sweep");
  CHECK(json.at("context").at("digest") == space.digest());
  REQUIRE(json.at("plans").size() == 5);
  double last = std::numeric_limits<double>::infinity();
  for (const Json& plan : json.at("plans")) {
    CHECK(plan.at("tokens_per_second_per_gpu").get<double>() <= last);
    last = plan.at("tokens_per_second_per_gpu").get<double>();
  }
  std::int64_t refused = 0;
  for (const auto& [reason, plans] : json.at("refused").items()) {
    refused += plans.get<std::int64_t>();
  }
  CHECK(refused + json.at("priced").get<std::int64_t>() == space.size());
  CHECK(json.at("pareto").at("memory").size() == summary.memory_front.size());
  CHECK(json.at("pareto").at("gpus").empty());
}

TEST_CASE("A JSON report can list other plans than the best of its summary", "[unit]") {
  const SweepSpace space = small_space();
  const std::vector<PlanNumbers> all = test::evaluated(space).priced;
  std::string text;
  PlanErrors errors(space, kNoRuns);
  write_sweep_json([&text](std::string_view piece) { text += piece; }, space, summary_of(space, 1),
                   errors,
                   [&all](const TakePlan& take) { std::for_each(all.begin(), all.end(), take); });
  const Json plans = Json::parse(text).at("plans");
  REQUIRE(plans.size() == all.size());
  CHECK(plans.back().at("index") == all.back().plan);
}

TEST_CASE("A sweep says what its plans may be off, and which are as good as the best", "[unit]") {
  const SweepSpace space = small_space();
  const SweepSummary summary = summary_of(space, 3);
  HeldOutRun run{traits_of(space.sites().front()), 0.02};
  run.traits.source = "a";
  const std::vector<HeldOutRun> known(3, run);
  PlanErrors errors(space, known);
  const PlanNumbers& best = summary.best.front();
  CHECK(errors.of(best).runs == 3);
  PlanNumbers half = best;
  half.tokens_per_second_per_gpu *= 0.5;
  PlanNumbers near = best;
  near.tokens_per_second_per_gpu *= 0.99;
  CHECK(errors.told_apart(half, best));
  CHECK_FALSE(errors.told_apart(near, best));
  CHECK(not_told_apart_text(errors, {best, near, near, half, near}) == "rank 2 to 3, 5");
  CHECK(not_told_apart_text(errors, {best, half}).empty());
  SweepSummary told = summary;
  told.best = {best, near, half};
  CHECK_THAT(sweep_to_text(space, told, errors),
             contains_text("not from the rate of the first (80 %): rank 2\n"));
  std::string text;
  write_sweep_json([&text](std::string_view piece) { text += piece; }, space, told, errors);
  const Json plans = Json::parse(text).at("plans");
  CHECK(plans[0].at("expected_error").at("interval_80").size() == 2);
  CHECK_FALSE(plans[0].contains("told_apart"));
  CHECK(plans[1].at("told_apart") == false);
  CHECK(plans[2].at("told_apart") == true);
}

TEST_CASE("A JSON report of nothing is still JSON", "[unit]") {
  CHECK(Json::parse(json_of(small_space(), {})).at("plans").empty());
}

TEST_CASE("The text report has a column for each axis that varies, and every refusal", "[unit]") {
  const SweepSpace space = small_space();
  const std::string text = text_of(space, summary_of(space, 3));
  CHECK_THAT(text, contains_text("A small, \"quoted\" sweep\n"));
  CHECK_THAT(text, contains_text("ranked by                 tokens_per_second_per_gpu\n"));
  CHECK_THAT(text, contains_text("--plans FILE.csv\n"));
  CHECK_THAT(text, contains_text("Most tokens/s/GPU for their memory: "));
  CHECK_THAT(text, contains_text("tp * cp * pp does not divide the number of GPUs"));
  CHECK_THAT(text, contains_text("vpp needs pp > 1"));
  CHECK(text.find("a part of them") == std::string::npos);
  CHECK_THAT(text_of(space, {}), contains_text("a part of them"));
}

TEST_CASE("A plot puts the ends of both axes at its edges", "[unit]") {
  const std::string plot =
      scatter_plot({{1.0, 10.0}, {2.0, 20.0}, {2.0, 20.0}}, {"memory", "speed"});
  std::vector<std::string> rows;
  std::istringstream lines(plot);
  for (std::string row; std::getline(lines, row);) {
    rows.push_back(row);
  }
  // The title, the rows, the axis and its labels.
  REQUIRE(rows.size() == 1 + kPlotRows + 2);
  CHECK(rows[0] == "  speed");
  // Two points at the top right, one at the bottom left.
  CHECK(rows[1] == "         20.00 |" + std::string(kPlotColumns - 1, ' ') + "2");
  CHECK(rows[kPlotRows] == "         10.00 |*");
  CHECK(rows[kPlotRows + 1] == std::string(15, ' ') + "+" + std::string(kPlotColumns, '-'));
  CHECK_THAT(rows[kPlotRows + 2], contains_text("1.00"));
  CHECK_THAT(rows[kPlotRows + 2], contains_text("2.00  memory"));
}

TEST_CASE("A plot of one point, or of none", "[unit]") {
  CHECK(scatter_plot({}, {"x", "y"}).empty());
  const std::string one = scatter_plot({{3.0, 5.0}}, {"x", "y"});
  CHECK(std::count(one.begin(), one.end(), '*') == 1);
}

}  // namespace stepcast::sweep_report_test
