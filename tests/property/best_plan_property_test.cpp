// SPDX-License-Identifier: Apache-2.0
// The best plan of an experiment is no slower than the plan that it has, than any single change of
// that, and than the winner of a sweep over the same space.
#include <filesystem>
#include <string>
#include <vector>

#include "catch.hpp"
#include "property/draws.hpp"
#include "property/random_choice.hpp"
#include "stepcast/api/chosen_backends.hpp"
#include "stepcast/experiment/plan_climb.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/stepcast.hpp"
#include "stepcast/sweep/best_plan.hpp"
#include "stepcast/sweep/plan_evaluator.hpp"
#include "stepcast/sweep/plan_search.hpp"
#include "sweep_text.hpp"

namespace stepcast::best_plan_property_test {
namespace {

using test::RandomChoice;

// Rounding of the same sums in another order.
constexpr double kRounding = 1.0 + 1e-12;

struct Judged {
  BestPlan best;
  double given = 0.0;    // tokens/s/GPU of the plan itself; 0 where it cannot run
  double changed = 0.0;  // of its best single change
};

Judged judged(const SweepSource& source) {
  Experiment given = read_experiment(overridden_sweep(source), source.folder, test::data_root());
  const CostModel cost = cost_model_of(given, test::data_root());
  const SweepSpace space = read_sweep(with_all_plans(source), test::data_root());
  const std::vector<CostModel> costs(space.sites().size(), cost);
  Judged result{best_plan(space, costs, 1, {kept_keys(source, {}), given})};
  const ParallelPlan own =
      settle_plan(given.plan, given.model, given.training, given.cluster, given.software).plan;
  const PlanChange unchanged = unchanged_plan(given, own);
  PlanTrials trials(given, cost);
  const auto rate_of = [](const std::optional<RunningPlan>& plan) {
    return plan ? plan->tokens_per_second_per_gpu : 0.0;
  };
  result.given = rate_of(trials.run(unchanged));
  result.changed =
      rate_of(trials.fastest(single_changes(given, unchanged, own, kept_keys(source, {})), 0.0));
  return result;
}

void check(const Judged& found) {
  CHECK(found.best.tokens_per_second_per_gpu * kRounding >= found.given);
  CHECK(found.best.tokens_per_second_per_gpu * kRounding >= found.changed);
}

// A model, a cluster and a plan of few GPUs.
std::string drawn_text(RandomChoice& random) {
  const bool moe = random.one_in(6);
  const std::string model =
      moe ? "mixtral_8x7b" : random.any({"llama3.1_8b", "qwen2.5_7b", "llama2_13b"});
  const std::string gpu = random.any({"h100_sxm", "mi300x", "b200", "a100_80gb"});
  const std::string nodes = moe ? "1" : random.any({"1", "2", "3"});
  const std::string recompute = random.any(
      {"none", "selective", "full", "full, recompute_method: block, recompute_layers: 5"});
  return "model: " + model + "\ncluster: {gpu: " + gpu + ", nodes: " + nodes +
         "}\ntraining: {sequence_length: " + random.any({"2048", "4096", "8192"}) +
         ", global_batch_size: " + random.any({"48", "96", "192"}) +
         ", micro_batch_size: " + random.any({"1", "2"}) + ", recompute: " + recompute +
         "}\nplan: {tp: " + random.any({"1", "2", "4", "8"}) +
         ", pp: " + random.any({"1", "2", "4"}) + ", zero: " + random.any({"0", "1", "2", "3"}) +
         (moe ? ", ep: " + random.any({"1", "2", "4", "8"}) : "") + "}\n";
}

}  // namespace

TEST_CASE("The best plan is no slower than the plan that is given nor than any change of it",
          "[property]") {
  RandomChoice random(38);
  const int draws = test::draws(30);
  int running = 0;
  for (int i = 0; i < draws; ++i) {
    const std::string text = drawn_text(random);
    INFO(text);
    const Judged found = judged({"experiment.yaml", {}, text, {}, "test"});
    check(found);
    running += found.given > 0.0 ? 1 : 0;
  }
  CHECK(running > draws / 10);
}

TEST_CASE("The best plan is no slower than the winner of a sweep over the same space",
          "[property]") {
  RandomChoice random(39);
  for (int i = 0; i < test::draws(10); ++i) {
    const SweepSource source{"experiment.yaml", {}, drawn_text(random), {}, "test"};
    INFO(source.text);
    const SweepSpace space = read_sweep(with_all_plans(source), test::data_root());
    const std::vector<CostModel> costs(space.sites().size(), default_cost_model());
    PlanEvaluator evaluator(space, costs, std::make_shared<SolvedPipelines>());
    Incumbents known(SearchGoal{RankBy::kTokensPerSecondPerGpu, 1, false, false});
    double winner = 0.0;
    for (const PlanNumbers& plan : evaluator.evaluate(0, space.size(), &known).priced) {
      winner = std::max(winner, plan.tokens_per_second_per_gpu);
    }
    CHECK(best_plan(space, costs, 1).tokens_per_second_per_gpu * kRounding >= winner);
  }
}

TEST_CASE("The best plan of a small example is no slower than its own nor than any change of it",
          "[property]") {
  for (const auto& entry :
       std::filesystem::directory_iterator(test::data_root().folder / "examples")) {
    const std::filesystem::path file = entry.path() / "experiment.yaml";
    if (!std::filesystem::exists(file)) {
      continue;
    }
    INFO(file.string());
    const SweepSource source = load_sweep_source(file, {}, "test");
    // Larger spaces take seconds each.
    if (read_sweep(with_all_plans(source), test::data_root()).size() <= kSoonSearched) {
      check(judged(source));
    }
  }
}

}  // namespace stepcast::best_plan_property_test
