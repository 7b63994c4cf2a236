// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/timed_runs.hpp"

#include <nlohmann/json.hpp>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "importers/measurement_files.hpp"
#include "sample_specs.hpp"
#include "stepcast/report/validation_report.hpp"

namespace stepcast::plan_regret_test {
namespace {

TimedRun run(double predicted, double measured, const std::string& network = "",
             std::int64_t nodes = 1) {
  TimedRun made;
  made.id = std::to_string(measured);
  made.projection.model = "sample";
  made.projection.gpu = "h100_sxm";
  made.projection.nodes = nodes;
  made.projection.parameters = 1e9;
  made.projection.tokens_per_second_per_gpu = predicted;
  made.measured = measured;
  made.network = network;
  return made;
}

TEST_CASE("regret is what the pick reaches of the fastest", "[unit]") {
  const std::vector<TimedRun> runs = {run(90, 60), run(120, 80), run(100, 100), run(10, 40),
                                      run(20, 20)};
  const std::vector<RegretGroup> groups = plan_regret(runs, RegretScope::kWork);
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].pick->measured == 80.0);
  CHECK(groups[0].best->measured == 100.0);
  CHECK(groups[0].kept() == 0.8);
  CHECK(groups[0].random() == Approx(0.6));  // (60 + 80 + 100 + 40 + 20) / 5 / 100
}

TEST_CASE("fewer than five plans are no choice, and other nodes are other work", "[unit]") {
  std::vector<TimedRun> runs = {run(1, 1), run(2, 2), run(3, 3), run(4, 4), run(5, 5, "", 2)};
  CHECK(plan_regret(runs, RegretScope::kWork).empty());
  runs.push_back(run(0.5, 5));
  const std::vector<RegretGroup> groups = plan_regret(runs, RegretScope::kWork);
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].nodes == 1);
  CHECK(groups[0].kept() == 0.8);
}

TEST_CASE("runs on another state of the network can be kept apart", "[unit]") {
  std::vector<TimedRun> runs;
  for (int i = 1; i <= 5; ++i) {
    runs.push_back(run(i, i, "sound"));
    runs.push_back(run(10 * i, 0.1 * i, "slow"));
  }
  CHECK(plan_regret(runs, RegretScope::kWork).front().kept() == Approx(0.1));
  const std::vector<RegretGroup> groups = plan_regret(runs, RegretScope::kWorkAndNetwork);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].kept() == 1.0);
  CHECK(groups[1].kept() == 1.0);
  const nlohmann::ordered_json json = regret_to_json(runs);
  CHECK(json.at("summary").at("groups") == 1);
  CHECK(json.at("one_network").at("summary").at("groups") == 2);
  CHECK(json.at("one_network").at("groups")[0].at("network") == "slow");
}

TEST_CASE("the summary of groups is their mean, median and worst", "[unit]") {
  std::vector<TimedRun> runs;
  // What is picked keeps 1, 0.5 and 0.75.
  for (const auto& [nodes, picked] : {std::pair{1, 1.0}, std::pair{2, 0.5}, std::pair{3, 0.75}}) {
    runs.push_back(run(10, picked, "", nodes));
    for (int i = 0; i < 4; ++i) {
      runs.push_back(run(i, 1.0, "", nodes));
    }
  }
  const RegretSummary summary = summary_of(plan_regret(runs, RegretScope::kWork));
  CHECK(summary.mean == Approx(0.75));
  CHECK(summary.median == Approx(0.75));
  CHECK(summary.worst == 0.5);
}

// Seven of the grid's runs sent from stage to stage in half a second a message, on nodes whose GPUs
// did not reach each other over the scale-up fabric: no plan could have been searched for there.
std::vector<TimedRun> on_whole_nodes(std::vector<TimedRun> runs) {
  std::erase_if(runs, [](const TimedRun& run) { return run.network == "no fabric inside nodes"; });
  return runs;
}

// What one search sees is one state of the network.
TEST_CASE("The fastest predicted plan of nanotron's grid is near the fastest", "[.shared]") {
  const std::filesystem::path file =
      test::data_root().folder.parent_path() / "shared/measured/published/nanotron_h100_grid.csv";
  const std::vector<TimedRun> all =
      timed_runs({file}, test::data_root(), default_cost_model(), all_importers());
  CHECK(summary_of(plan_regret(all, RegretScope::kWork)).mean >= 0.94);
  const std::vector<TimedRun> runs = on_whole_nodes(all);
  const std::vector<RegretGroup> of_work = plan_regret(runs, RegretScope::kWork);
  const std::vector<RegretGroup> of_network = plan_regret(runs, RegretScope::kWorkAndNetwork);
  CHECK(of_work.size() >= 15);
  CHECK(of_network.size() >= 25);
  CHECK(summary_of(of_network).mean >= 0.97);
  CHECK(summary_of(of_network).worst >= 0.8);
  CHECK(summary_of(of_work).mean >= 0.98);
  CHECK(summary_of(of_work).median >= 0.99);
  CHECK(summary_of(of_work).worst >= 0.85);
  CHECK(summary_of(of_work).mean > 1.5 * summary_of(of_work).random);
}

}  // namespace
}  // namespace stepcast::plan_regret_test
