// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/best_plan.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "catch.hpp"
#include "stepcast/experiment/project.hpp"
#include "sweep_text.hpp"

namespace stepcast::best_plan_test {
namespace {

// An experiment with a plan of its own, which is slow.
SweepSource small_experiment(const std::string& training, std::vector<Override> overrides = {}) {
  return {"experiment.yaml",
          {},
          test::small_sweep(training, "{tp: 8, zero: 3}"),
          std::move(overrides),
          "test"};
}

SweepSpace all_plans(const SweepSource& experiment) {
  return read_sweep(with_all_plans(experiment), test::data_root());
}

BestPlan found(const SweepSpace& space, int threads = 1) {
  return best_plan(space, {space.sites().size(), default_cost_model()}, threads);
}

std::int64_t refused(const SearchedPlans& searched) {
  return std::accumulate(searched.refused.begin(), searched.refused.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& entry) { return sum + entry.second; });
}

}  // namespace

TEST_CASE("No plan of the space is faster than the best one, nor any change of that", "[unit]") {
  const SweepSpace space = all_plans(small_experiment(", global_batch_size: 16"));
  REQUIRE(space.size() > 500);
  double rate = 0.0;
  for (std::int64_t index = 0; index < space.size(); ++index) {
    const Projection projection = project(space.experiment(index), default_cost_model());
    if (projection.feasible()) {
      rate = std::max(rate, projection.tokens_per_second_per_gpu);
    }
  }
  const BestPlan one = found(space);
  REQUIRE(one.best);
  CHECK(one.tokens_per_second_per_gpu >= rate);
  Experiment planned = space.sites().front();
  planned.plan = one.best->plan;
  planned.training = one.best->training;
  const Projection best = project(planned, default_cost_model());
  CHECK(best.feasible());
  CHECK(best.tokens_per_second_per_gpu == one.tokens_per_second_per_gpu);
  PlanTrials trials(planned, default_cost_model());
  CHECK_FALSE(
      trials.fastest(single_changes(planned, {{}, planned.plan, planned.training}, best.plan, {}),
                     one.tokens_per_second_per_gpu));
  CHECK(one.searched.plans > space.size());
  CHECK(one.searched.priced + one.searched.bounded + refused(one.searched) == one.searched.plans);
  CHECK(one.searched.priced < space.size() / 10);
}

TEST_CASE("The plan of the experiment is where a search begins, too", "[unit]") {
  const SweepSource source = small_experiment(", global_batch_size: 16");
  const SweepSpace space = all_plans(source);
  const std::vector<CostModel> costs(space.sites().size(), default_cost_model());
  const Experiment given = read_experiment(overridden_sweep(source), {}, test::data_root());
  const BestPlan best = best_plan(space, costs, 1, {{}, given});
  REQUIRE(best.best);
  CHECK(best.tokens_per_second_per_gpu >= found(space).tokens_per_second_per_gpu);
  CHECK(best.tokens_per_second_per_gpu >=
        project(given, default_cost_model()).tokens_per_second_per_gpu);
}

TEST_CASE("Threads find the same plan and count the same", "[unit]") {
  const SweepSpace space = all_plans(small_experiment(", global_batch_size: 16"));
  const BestPlan one = found(space, 1);
  const BestPlan four = found(space, 4);
  REQUIRE(one.best);
  REQUIRE(four.best);
  CHECK(four.best->plan.tp == one.best->plan.tp);
  CHECK(four.best->plan.zero == one.best->plan.zero);
  CHECK(four.searched.priced == one.searched.priced);
  CHECK(four.searched.bounded == one.searched.bounded);
  CHECK(four.searched.refused == one.searched.refused);
}

TEST_CASE(
    "A search keeps what the command line says, and what a file says of the recipe is searched",
    "[unit]") {
  const std::string training = ", global_batch_size: 16, micro_batch_size: 2, recompute: full";
  const SweepSpace whole = all_plans(small_experiment(training));
  const SweepSource source = small_experiment(
      training,
      {"plan.tp=2", "plan.pp=2", "training.micro_batch_size=2", "training.recompute=full"});
  const SweepSpace narrow = all_plans(source);
  CHECK(narrow.size() < whole.size());
  const KeySet kept = kept_keys(source, {});
  CHECK(kept == KeySet{"plan.pp", "plan.tp", "training.micro_batch_size", "training.recompute"});
  const std::vector<CostModel> costs(narrow.sites().size(), default_cost_model());
  const BestPlan best = best_plan(narrow, costs, 1, {kept, {}});
  REQUIRE(best.best);
  CHECK(best.best->plan.tp == 2);
  CHECK(best.best->plan.pp == 2);
  CHECK(best.best->training.micro_batch_size == 2);
  CHECK(best.best->training.recompute.kind == RecomputeKind::kFull);
  // A whole plan on the command line narrows it too.
  const SweepSource mapping = small_experiment(training, {"plan={tp: 2, pp: 2}"});
  CHECK(kept_keys(mapping, {}) == KeySet{"plan.pp", "plan.tp"});
  CHECK(all_plans(mapping).size() > narrow.size());  // the recipe is searched
}

TEST_CASE("A key that is free is searched although the command line gives it", "[unit]") {
  const SweepSource source =
      small_experiment(", global_batch_size: 16",
                       {"plan.tp=2", "training.recompute=full", "training.recompute_method=block",
                        "training.recompute_layers=2"});
  CHECK(searched_key("recompute") == "training.recompute");
  CHECK(searched_key("mbs") == "training.micro_batch_size");
  CHECK(searched_key("micro_batch") == "training.micro_batch_size");
  CHECK_FALSE(searched_key("sequence_length"));
  const KeySet free = {"training.recompute"};
  CHECK(kept_keys(source, free) == KeySet{"plan.tp"});
  const auto size = [&source](const KeySet& keys) {
    return read_sweep(with_all_plans(source, keys), test::data_root()).size();
  };
  CHECK(size(free) == 3 * size({}));  // none, selective, full
}

TEST_CASE("Settings of the best plan make it of the experiment's own file", "[unit]") {
  const std::string training =
      ", global_batch_size: 16, recompute: full, recompute_method: block, recompute_layers: 2";
  const SweepSource source = {
      "experiment.yaml", {}, test::small_sweep(training, "{tp: 8, dp: 1, zero: 3}"), {}, "test"};
  const SweepSpace space = all_plans(source);
  for (const bool with_own : {false, true}) {
    CAPTURE(with_own);
    PlanQuestion question;
    if (with_own) {
      question.given = read_experiment(overridden_sweep(source), {}, test::data_root());
    }
    const std::vector<CostModel> costs(space.sites().size(), default_cost_model());
    const BestPlan best = best_plan(space, costs, 1, question);
    REQUIRE(best.best);
    SweepSource changed = source;
    for (const auto& [key, value] : settings_on(source, {}, best)) {
      changed.overrides.emplace_back(key + "=" + value);
    }
    const Experiment experiment = read_experiment(overridden_sweep(changed), {}, test::data_root());
    CHECK(project(experiment, default_cost_model()).tokens_per_second_per_gpu ==
          best.tokens_per_second_per_gpu);
  }
}

TEST_CASE("The experiment's dispatcher stays", "[unit]") {
  const std::string text =
      "model: mixtral_8x7b\ncluster: {gpu: h100_sxm, nodes: 2}\n"
      "training: {sequence_length: 4096, micro_batch_size: 1, global_batch_size: 64, "
      "recompute: full}\nplan: {ep: 8, dispatcher: deepep}\nexpert_exchange: {num_sms: 20}\n";
  const SweepSpace space = all_plans({"experiment.yaml", {}, text, {}, "test"});
  REQUIRE(space.sites().size() == 1);
  CHECK(space.sites().front().plan.dispatcher == Dispatcher::kDeepEp);
}

TEST_CASE("Where no plan can run, every reason is counted", "[unit]") {
  // A micro-batch of 4,096 sequences fits nowhere.
  const SweepSpace space = all_plans(
      small_experiment(", global_batch_size: 32768",
                       {"plan.tp=1", "training.micro_batch_size=4096", "training.recompute=none"}));
  const std::vector<CostModel> costs(space.sites().size(), default_cost_model());
  const BestPlan none = best_plan(
      space, costs, 1, {{"plan.tp", "training.micro_batch_size", "training.recompute"}, {}});
  CHECK_FALSE(none.best);
  CHECK(none.searched.priced == 0);
  CHECK(none.searched.bounded == 0);  // beside nothing that runs
  CHECK(none.searched.plans > space.size());
  CHECK(refused(none.searched) == none.searched.plans);
  const std::vector<std::string> reasons = why_no_plan(none.searched);
  REQUIRE(reasons.size() == none.searched.refused.size());
  CHECK(std::any_of(reasons.begin(), reasons.end(), [](const std::string& reason) {
    return reason.ends_with(" plans: does not fit in memory");
  }));
}

TEST_CASE("Climbs find a plan that is no better than the best, and nearly as good", "[unit]") {
  const SweepSpace space = all_plans(small_experiment(", global_batch_size: 16"));
  const auto pipelines = std::make_shared<SolvedPipelines>();
  const std::vector<CostModel> costs(space.sites().size(), default_cost_model());
  const BestPlan best = found(space);
  const BestPlan likely = likely_best_plan(space, costs, {}, pipelines);
  REQUIRE(likely.best);
  CHECK(likely.tokens_per_second_per_gpu <= best.tokens_per_second_per_gpu);
  CHECK(likely.tokens_per_second_per_gpu > 0.9 * best.tokens_per_second_per_gpu);
  // From the best plan no climb leads away.
  const PlanChange top{best.searched.settings, best.best.value().plan, best.best->training};
  const BestPlan near = likely_best_plan(space, costs, {{}, {top}, false}, pipelines);
  CHECK(near.tokens_per_second_per_gpu == best.tokens_per_second_per_gpu);
}

TEST_CASE("The best plan is one whose schedule the software offers", "[unit]") {
  const SweepSpace offered = all_plans(small_experiment(", global_batch_size: 16"));
  const SweepSpace every = read_sweep(
      {"sweep.yaml", {}, test::small_sweep(", global_batch_size: 16", "all"), {}, "test"},
      test::data_root());
  const auto schedules = [](const SweepSpace& space) {
    std::set<Schedule> met;
    for (std::int64_t index = 0; index < space.size(); ++index) {
      met.insert(space.request(index).plan.schedule.value());
    }
    return met;
  };
  CHECK(schedules(offered) == std::set{Schedule::kOneFOneB, Schedule::kInterleaved});  // Megatron
  CHECK(schedules(every).size() > 5);
}

}  // namespace stepcast::best_plan_test
