// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/advice.hpp"

#include <algorithm>
#include <set>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/config/config_yaml.hpp"
#include "stepcast/experiment/one_step_moves.hpp"
#include "stepcast/experiment/project.hpp"

namespace stepcast::advice_test {
namespace {

Experiment experiment_of(const std::string& text) {
  return read_experiment(parse_config(text, "a.yaml"), {}, test::data_root());
}

const std::string kJob =
    "model: llama3.1_8b\ncluster: {gpu: h100_sxm, nodes: 2}\n"
    "training: {sequence_length: 4096, micro_batch_size: 2, global_batch_size: 64}\n"
    "plan: {tp: 2, pp: 2, zero: 1}\nsoftware: megatron\n";

std::set<std::string> values_of(const std::vector<MoveWays>& moves, const std::string& key) {
  std::set<std::string> values;
  for (const MoveWays& ways : moves) {
    if (ways.front().key == key) {
      values.insert(ways.front().value);
    }
  }
  return values;
}

TEST_CASE("every setting is moved to its neighbours and no further", "[unit]") {
  const Experiment experiment = experiment_of(kJob);
  const std::vector<MoveWays> moves =
      one_step_moves(experiment, project(experiment, default_cost_model()).plan);
  CHECK(values_of(moves, "plan.tp") == std::set<std::string>{"1", "4"});
  CHECK(values_of(moves, "plan.pp") == std::set<std::string>{"1", "4"});
  CHECK(values_of(moves, "plan.cp") == std::set<std::string>{"2"});
  CHECK(values_of(moves, "training.micro_batch_size") == std::set<std::string>{"1", "4"});
  CHECK(values_of(moves, "plan.zero").contains("0"));
  CHECK_FALSE(values_of(moves, "plan.zero").contains("1"));
  CHECK(values_of(moves, "training.recompute").contains("full"));
  CHECK(values_of(moves, "cluster.power_limit") == std::set<std::string>{"630 W"});
}

TEST_CASE("what fits goes first, then what is fast, and pairs gain more than their first",
          "[unit]") {
  const Experiment experiment = experiment_of(kJob);
  const CostModel cost = default_cost_model();
  const Projection base = project(experiment, cost);
  const std::vector<AdvisedChange> changes = advice(experiment, base, cost);
  REQUIRE(changes.size() > 5);
  for (std::size_t i = 1; i < changes.size(); ++i) {
    const AdvisedChange& before = changes[i - 1];
    CHECK(before.verdict <= changes[i].verdict);
    if (before.verdict == changes[i].verdict) {
      CHECK(before.tokens_per_second_per_gpu >= changes[i].tokens_per_second_per_gpu);
    }
    CHECK(changes[i].gain ==
          Approx(changes[i].tokens_per_second_per_gpu / base.tokens_per_second_per_gpu - 1.0));
  }
  const auto pair = std::ranges::find_if(
      changes, [](const AdvisedChange& change) { return change.moves.size() == 2; });
  REQUIRE(pair != changes.end());
  const auto first = std::ranges::find_if(changes, [&](const AdvisedChange& change) {
    return change.moves.size() == 1 && change.moves.front() == pair->moves.front();
  });
  REQUIRE(first != changes.end());
  CHECK(pair->gain > first->gain);
}

}  // namespace
}  // namespace stepcast::advice_test
