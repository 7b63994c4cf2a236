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

TEST_CASE("The best plan is the one that projecting each of them finds", "[unit]") {
  const SweepSpace space = all_plans(small_experiment(", global_batch_size: 16"));
  REQUIRE(space.size() > 500);
  std::int64_t best = -1;
  double rate = 0.0;
  for (std::int64_t index = 0; index < space.size(); ++index) {
    const Projection projection = project(space.experiment(index), default_cost_model());
    if (projection.feasible() && projection.tokens_per_second_per_gpu > rate) {
      rate = projection.tokens_per_second_per_gpu;
      best = index;
    }
  }
  const BestPlan one = found(space);
  REQUIRE(one.best);
  // Of indices that stand for the same plan the first is searched, and the first is found here.
  const Experiment expected = space.experiment(best);
  Experiment planned = space.sites().front();
  planned.plan = one.best->plan;
  planned.training = one.best->training;
  CHECK(project(planned, default_cost_model()).tokens_per_second_per_gpu == rate);
  CHECK(planned.plan.tp == expected.plan.tp);
  CHECK(planned.plan.pp == expected.plan.pp);
  CHECK(planned.plan.schedule == expected.plan.schedule);
  CHECK(planned.training.micro_batch_size == expected.training.micro_batch_size);
  CHECK(planned.training.recompute.kind == expected.training.recompute.kind);
  CHECK(one.searched.plans == space.size());
  CHECK(one.searched.priced + one.searched.bounded + refused(one.searched) == space.size());
  CHECK(one.searched.priced < space.size() / 10);
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

TEST_CASE("A search keeps the recipe and what the command line says of the plan", "[unit]") {
  const std::string training = ", global_batch_size: 16, micro_batch_size: 2, recompute: full";
  const SweepSpace whole = all_plans(small_experiment(training));
  const SweepSpace narrow = all_plans(small_experiment(training, {"plan.tp=2", "plan.pp=2"}));
  CHECK(narrow.size() < whole.size());
  const BestPlan best = found(narrow);
  REQUIRE(best.best);
  CHECK(best.best->plan.tp == 2);
  CHECK(best.best->plan.pp == 2);
  CHECK(best.best->training.micro_batch_size == 2);
  CHECK(best.best->training.recompute.kind == RecomputeKind::kFull);
  // A whole plan on the command line narrows it too.
  const SweepSpace mapping = all_plans(small_experiment(training, {"plan={tp: 2, pp: 2}"}));
  CHECK(mapping.size() == narrow.size());
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
  const SweepSpace space = all_plans(small_experiment(
      ", global_batch_size: 32768, micro_batch_size: 4096, recompute: none", {"plan.tp=1"}));
  const BestPlan none = found(space);
  CHECK_FALSE(none.best);
  CHECK(none.searched.priced == 0);
  CHECK(refused(none.searched) == space.size());
  const std::vector<std::string> reasons = why_no_plan(none.searched);
  REQUIRE(reasons.size() == none.searched.refused.size());
  CHECK(std::any_of(reasons.begin(), reasons.end(), [](const std::string& reason) {
    return reason.ends_with(" plans: does not fit in memory");
  }));
}

TEST_CASE("Descents find a plan that is no better than the best, and nearly as good", "[unit]") {
  const SweepSpace space = all_plans(small_experiment(", global_batch_size: 16"));
  const auto pipelines = std::make_shared<SolvedPipelines>();
  const std::vector<CostModel> costs(space.sites().size(), default_cost_model());
  const auto rate = [&](const BestPlan& plan) {
    Experiment planned = space.sites().front();
    planned.plan = plan.best.value().plan;
    planned.training = plan.best.value().training;
    return project(planned, default_cost_model()).tokens_per_second_per_gpu;
  };
  const BestPlan best = found(space);
  const BestPlan likely = likely_best_plan(space, costs, pipelines, {});
  CHECK(rate(likely) <= rate(best));
  CHECK(rate(likely) > 0.9 * rate(best));
  CHECK(likely.searched.plans < space.size());
  // From the best plan no descent leads away.
  const BestPlan near =
      likely_best_plan(space, costs, pipelines, {{best.searched.settings}, false});
  CHECK(rate(near) == rate(best));
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
