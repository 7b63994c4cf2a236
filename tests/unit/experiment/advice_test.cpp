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
#include "stepcast/experiment/setting_moves.hpp"

namespace stepcast::advice_test {
namespace {

Experiment experiment_of(const std::string& text) {
  return read_experiment(parse_config(text, "a.yaml"), {}, test::data_root());
}

const std::string kJob =
    "model: llama3.1_8b\ncluster: {gpu: h100_sxm, nodes: 2}\n"
    "training: {sequence_length: 4096, micro_batch_size: 2, global_batch_size: 64}\n"
    "plan: {tp: 2, pp: 2, zero: 1}\nsoftware: megatron\n";

// A run with what its variants are read and priced by.
struct Bench {
  explicit Bench(const std::string& text)
      : tree{parse_config(text, "a.yaml"), {}},
        experiment(read_experiment(tree.root, {}, profiles)),
        run(tree, experiment, profiles, cost) {}

  ProfileCache profiles{test::data_root()};
  CostModel cost = default_cost_model();
  ExperimentTree tree;
  Experiment experiment;
  VariedRun run;
};

std::set<std::string> set_values(const Bench& bench, const std::string& key) {
  std::set<std::string> values;
  for (const SettingMove& move :
       setting_moves(bench.tree.root, bench.experiment, bench.run.projected({}).plan)) {
    if (move.key == key) {
      values.insert(move.value);
    }
  }
  return values;
}

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
  Bench bench(kJob);
  const Projection base = bench.run.projected({});
  const std::vector<AdvisedChange> changes = advice(bench.run, base);
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

TEST_CASE("formats, offloads and reductions are moved as far as the part has them", "[unit]") {
  const Bench h100(kJob);
  CHECK(set_values(h100, "training.dtype") == std::set<std::string>{"fp8"});
  CHECK(set_values(h100, "training.offload.activations") == std::set<std::string>{"true"});
  CHECK(set_values(h100, "software.gradient_reduce") == std::set<std::string>{"bf16"});
  CHECK(set_values(h100, "plan.cp_algorithm").empty());
  CHECK(set_values(h100, "expert_exchange.num_sms").empty());
  const Bench gathered(
      "model: qwen3_30b_a3b\ncluster: {gpu: b200, nodes: 2}\n"
      "training: {sequence_length: 8192, micro_batch_size: 1, global_batch_size: 16, dtype: fp8}\n"
      "plan: {cp: 2, ep: 8, zero: 1, dispatcher: deepep}\nsoftware: megatron\n"
      "expert_exchange: {num_sms: 24}\n");
  CHECK(set_values(gathered, "training.dtype") == std::set<std::string>{"bf16", "fp4"});
  CHECK(set_values(gathered, "plan.cp_algorithm").contains("all_gather"));
  CHECK(set_values(gathered, "expert_exchange.num_sms") == std::set<std::string>{"12", "48"});
}

TEST_CASE("what is advised is what its settings project", "[unit]") {
  const Bench bench(kJob);
  const std::vector<AdvisedChange> changes = advice(bench.run, bench.run.projected({}));
  std::set<std::string> moved;
  for (const AdvisedChange& change : changes) {
    CAPTURE(change.moves.front().first, change.moves.front().second);
    moved.insert(change.moves.front().first);
    const std::optional<Projection> projection = bench.run.if_possible(change.settings);
    REQUIRE(projection);
    CHECK(projection->tokens_per_second_per_gpu ==
          Approx(change.tokens_per_second_per_gpu).epsilon(1e-9));
    CHECK(projection->peak_memory().value() == Approx(change.peak_memory.value()).epsilon(1e-9));
  }
  CHECK(moved.contains("training.dtype"));
  CHECK(moved.contains("training.optimizer"));
  CHECK(moved.contains("software.gradient_reduce"));
}

}  // namespace
}  // namespace stepcast::advice_test
