// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/run_search.hpp"

#include <mutex>

#include "catch.hpp"
#include "stepcast/sweep/run_choice.hpp"
#include "sweep_text.hpp"

namespace stepcast::run_search_test {
namespace {

Experiment training(const std::string& tokens) {
  const SweepSource source{"experiment.yaml",
                           {},
                           test::small_sweep(", global_batch_size: 16", "{tp: 1}"),
                           {"training.tokens=" + tokens},
                           "test"};
  return read_sweep(source, test::data_root()).sites().front();
}

// Candidates of a part that takes `gpu_days` however many GPUs there are, by formula.
CandidateOf ideal(const std::vector<Experiment>& experiments, std::vector<double> gpu_days) {
  return [&experiments, gpu_days](std::size_t i, std::int64_t nodes, const NearCandidates&) {
    RunCandidate result;
    Projection& p = result.projection;
    p.gpus = nodes * experiments[i].cluster.gpus_per_node;
    p.priced = true;
    p.run = TrainingRun{};
    p.run->gpus = p.gpus;
    p.run->wall = Seconds(gpu_days[i] / static_cast<double>(p.gpus) * 86'400.0);
    return result;
  };
}

}  // namespace

TEST_CASE("Numbers of nodes are powers of two and one and a half times as many", "[unit]") {
  CHECK(node_counts(1, 12) == std::vector<std::int64_t>{1, 2, 3, 4, 6, 8, 12});
  CHECK(node_counts(3, 8) == std::vector<std::int64_t>{3, 4, 6, 8});
  CHECK(node_counts(9, 8).empty());
}

TEST_CASE("No fewer nodes are looked at than computing at the peak needs", "[unit]") {
  const Experiment experiment = training("100T");
  const std::int64_t least = least_nodes(experiment, 1.0);
  CHECK(least > 1);
  // Twice the days need half the nodes, rounded down.
  CHECK(std::abs(2 * least_nodes(experiment, 2.0) - least) <= 2);
  CHECK(least_nodes(experiment, std::nullopt) == 1);
}

TEST_CASE("A search goes to twice the first number of GPUs that does", "[unit]") {
  const std::vector<Experiment> experiments = {training("1M")};
  RunLimits limits;
  limits.days = 10.0;
  // 320 GPU-days in 10 days are 32 GPUs: 4 nodes of 8.
  const std::vector<RecommendedGpu> found =
      search_runs(experiments, limits, ideal(experiments, {320.0}), 2);
  REQUIRE(found.size() == 1);
  std::vector<std::int64_t> gpus;
  for (const RunCandidate& candidate : found[0].candidates) {
    gpus.push_back(candidate.projection.gpus);
  }
  // A part whose GPU-days are the same on any number cannot do on fewer.
  CHECK(gpus == std::vector<std::int64_t>{8, 16, 24, 32, 48, 64});
  CHECK(found[0].fewest == 3);
  CHECK(found[0].fastest == 5);
}

TEST_CASE("A GPU that might beat what another one found is looked at further", "[unit]") {
  const std::vector<Experiment> experiments = {training("1M"), training("1M")};
  RunLimits limits;
  limits.days = 10.0;
  // The second part does with 160 GPU-days; without a further look it ends at 32 GPUs in 5 days,
  // where the first ends at 64 in 5 days.
  const std::vector<RecommendedGpu> found =
      search_runs(experiments, limits, ideal(experiments, {300.0, 160.0}), 2);
  const std::vector<PlacedCandidate> front = pareto_of(found, limits);
  for (const PlacedCandidate& placed : front) {
    CHECK(placed.gpu == 1);
  }
}

TEST_CASE("The fewest is refined between the numbers of the grid", "[unit]") {
  const std::vector<Experiment> experiments = {training("1M")};
  RunLimits limits;
  limits.days = 10.0;
  // 390 GPU-days in 10 days are 39 GPUs: 5 nodes of 8, between 4 and 6 of the grid.
  const std::vector<RecommendedGpu> found =
      search_runs(experiments, limits, ideal(experiments, {390.0}), 1);
  REQUIRE(found[0].fewest);
  CHECK(found[0].candidates[*found[0].fewest].projection.gpus == 40);
  CHECK(found[0].tried_from == 5);
}

TEST_CASE("The most that a budget leaves is refined, too", "[unit]") {
  const std::vector<Experiment> experiments = {training("1M")};
  RunLimits limits;
  limits.budget = 24.0 * 10.0 * 41.0;  // GPU-hours at 1
  // Ten days on any number of GPUs: each costs as much more.
  const CandidateOf ten_days = [&experiments](std::size_t, std::int64_t nodes,
                                              const NearCandidates& near) {
    RunCandidate result = ideal(experiments, {1.0})(0, nodes, near);
    result.projection.run->wall = Seconds(10.0 * 86'400.0);
    result.projection.gpu_hour = GpuHourPrice{1.0};
    return result;
  };
  const std::vector<RecommendedGpu> found = search_runs(experiments, limits, ten_days, 1);
  std::int64_t most = 0;
  for (const RunCandidate& candidate : found[0].candidates) {
    if (stays_within(candidate, limits)) {
      most = candidate.projection.gpus;
    }
  }
  CHECK(most == 40);
}

TEST_CASE("A limit that is no number of the grid is looked at", "[unit]") {
  const std::vector<Experiment> experiments = {training("1M")};
  RunLimits limits;
  limits.gpus = 45;  // 5 nodes of 8, and GPUs that are left
  const std::vector<RecommendedGpu> found =
      search_runs(experiments, limits, ideal(experiments, {10.0}), 1);
  CHECK(found[0].candidates.back().projection.gpus == 40);
}

TEST_CASE("A limit of GPUs is the last number that is looked at", "[unit]") {
  const std::vector<Experiment> experiments = {training("1M")};
  RunLimits limits;
  limits.gpus = 16;
  const std::vector<RecommendedGpu> found =
      search_runs(experiments, limits, ideal(experiments, {10.0}), 1);
  CHECK(found[0].candidates.back().projection.gpus == 16);
}

}  // namespace stepcast::run_search_test
