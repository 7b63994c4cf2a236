// SPDX-License-Identifier: Apache-2.0
// The rank of the cause that the source of a slow run states, for every run of
// tests/validation/stated_causes.jsonl: one rung of a ladder beside the rung without the cause,
// reports whose thread answers, and steps of Hugging Face's Trainer that were made slow on purpose.
// A run's own source is left out of the error to expect and of the priors.
#include <algorithm>
#include <sstream>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/config/config_node.hpp"
#include "stepcast/config/json_node.hpp"
#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/diagnosis/cause_info.hpp"
#include "stepcast/diagnosis/diagnose.hpp"
#include "stepcast/experiment/accuracy.hpp"

namespace stepcast::stated_causes_test {
namespace {

struct StatedCause {
  std::string id;
  Cause cause = Cause::kHostSlow;
  ConfigNode experiment;
  std::vector<MeasuredPoint> points;
  std::string source;   // of its records
  std::string seen_by;  // as the priors name it
};

void add_points(const ConfigNode& point, std::vector<MeasuredPoint>& points) {
  KeySettings settings;
  for (const ConfigEntry& setting : point.find("settings")->entries) {
    settings.emplace_back(setting.key, setting.value.text);
  }
  for (const ConfigEntry& figure : point.find("measured")->entries) {
    const double value = std::stod(figure.value.text);
    const bool share = figure.key == "model_tflops_per_gpu";
    const Metric metric = figure.key == "tokens_per_second_per_gpu" ? Metric::kTokenRate
                          : figure.key == "step_time_s"             ? Metric::kStepTime
                          : share                                   ? Metric::kModelRate
                                                                    : Metric::kPeakMemory;
    points.push_back({settings, {metric, value}});
  }
}

StatedCause read_line(const std::string& line) {
  Diagnostics diagnostics;
  const std::optional<ConfigNode> root = parse_json_object(line, {"stated_causes"}, diagnostics);
  diagnostics.throw_if_any();
  StatedCause row;
  row.id = root->find("id")->text;
  const auto& causes = names_of<Cause>();
  const auto cause = std::ranges::find(causes, root->find("cause")->text);
  REQUIRE(cause != causes.end());
  row.cause = static_cast<Cause>(cause - causes.begin());
  row.experiment = *root->find("experiment");
  for (const ConfigNode& point : root->find("points")->items) {
    add_points(point, row.points);
  }
  row.source = root->find("source")->text;
  row.seen_by = root->find("seen_by")->text;
  return row;
}

std::vector<StatedCause> stated_causes() {
  std::istringstream lines(
      read_file(test::data_root().folder / "tests/validation/stated_causes.jsonl"));
  std::vector<StatedCause> rows;
  for (std::string line; std::getline(lines, line);) {
    rows.push_back(read_line(line));
  }
  return rows;
}

// Of a cause that only this source has seen, without what the source says.
double without_source(const CauseFit& fit, const std::string& source) {
  const CauseInfo& known = info(fit.cause);
  const bool seen = std::ranges::find(known.seen_by, source) != known.seen_by.end();
  return fit.score * (seen ? (known.prior() - 1.0) / known.prior() : 1.0);
}

// From 0; of a cause that is not told, behind all.
std::size_t rank_of(const StatedCause& row, const std::vector<HeldOutRun>& runs,
                    std::size_t figures) {
  ProfileCache profiles(test::data_root());
  const CostModel cost = default_cost_model();
  const ExperimentTree tree{row.experiment, {}};
  const Experiment experiment = read_experiment(tree.root, {}, profiles);
  std::vector<HeldOutRun> others;
  std::ranges::copy_if(runs, std::back_inserter(others),
                       [&row](const HeldOutRun& run) { return run.traits.source != row.source; });
  std::vector<MeasuredPoint> points = row.points;
  points.resize(std::min(points.size(), figures));
  const Diagnosis d = diagnose(
      {tree, experiment, std::move(points), expected_error(others, experiment), std::nullopt},
      profiles, cost);
  const auto own = std::ranges::find(d.causes, row.cause, &CauseFit::cause);
  if (own == d.causes.end()) {
    return names_of<Cause>().size();
  }
  const double score = without_source(*own, row.seen_by);
  return static_cast<std::size_t>(std::ranges::count_if(
      d.causes, [&](const CauseFit& other) { return without_source(other, row.seen_by) > score; }));
}

// Shares of all runs whose cause is first, and among the first three.
struct Ranks {
  std::size_t first = 0;
  std::size_t three = 0;
};

Ranks ranks_with(const std::vector<StatedCause>& rows, std::size_t figures) {
  const std::vector<HeldOutRun> runs = load_accuracy(test::data_root());
  Ranks ranks;
  for (const StatedCause& row : rows) {
    const std::size_t rank = rank_of(row, runs, figures);
    ranks.first += rank == 0 ? 1 : 0;
    ranks.three += rank < 3 ? 1 : 0;
    if (rank > 2) {
      UNSCOPED_INFO(row.id << ": " << name(row.cause) << " is number " << rank + 1);
    }
  }
  return ranks;
}

TEST_CASE("the cause that a source states is among the likeliest", "[validation]") {
  const std::vector<StatedCause> rows = stated_causes();
  REQUIRE(rows.size() == 30);
  const Ranks one = ranks_with(rows, 1);
  const Ranks all = ranks_with(rows, rows.size());
  UNSCOPED_INFO("one figure: " << one.first << " first, " << one.three << " of three; all figures: "
                               << all.first << " first, " << all.three << " of three");
  // Floors that only rise; the goal is 60 and 85 %.
  CHECK(one.first >= 11);
  CHECK(one.three >= 20);
  CHECK(all.first >= 14);
  CHECK(all.three >= 21);
}

}  // namespace
}  // namespace stepcast::stated_causes_test
