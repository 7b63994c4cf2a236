// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/plan_projector.hpp"

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/memory/memory_footprint.hpp"
#include "stepcast/settle/settle_plan.hpp"

namespace stepcast::plan_projector_test {
namespace {

using test::data_root;

// Plans of one site that share some of what is solved and differ in the rest.
std::vector<Experiment> plans_of(const std::string& example,
                                 const std::vector<std::vector<Override>>& changes) {
  std::vector<Experiment> plans;
  for (const std::vector<Override>& change : changes) {
    plans.push_back(load_experiment(data_root().folder / "examples" / example / "experiment.yaml",
                                    change, data_root()));
  }
  return plans;
}

std::string with_full_recomputation() {
  return "training={sequence_length: 2048, micro_batch_size: 1, global_batch_size: 64, "
         "recompute: full}";
}

std::vector<Experiment> dense_plans() {
  return plans_of("18_gpt3_175b_a100", {{"plan={tp: 8, pp: 8}"},
                                        {"plan={tp: 8, pp: 8}", with_full_recomputation()},
                                        {"plan={tp: 8, pp: 8, zero: 1}"},
                                        {"plan={tp: 8, pp: 8, schedule: interleaved_1f1b, vpp: 2}"},
                                        {"plan={tp: 4, pp: 16}"},
                                        {"plan={tp: 8, pp: 8}", "training.micro_batch_size=2"}});
}

std::vector<Experiment> expert_plans() {
  return plans_of("10_deepseek_v2_lite_mi300x",
                  {{"plan={ep: 8, zero: 1}"},
                   {"plan={ep: 4, zero: 1}"},
                   {"plan={ep: 8, pp: 1, zero: 0}"},
                   {"plan={ep: 4, pp: 2, stage_layout: balanced}"},
                   {"plan={ep: 4, pp: 2, stage_layout: balanced}", "training.recompute=full"}});
}

ParallelPlan settled_plan(const Experiment& experiment) {
  ResolvedPlan resolved = settle_plan(experiment.plan, experiment.model, experiment.training,
                                      experiment.cluster, experiment.software);
  REQUIRE(resolved.reasons.empty());
  return std::move(resolved.plan);
}

void check_same(const StageMemory& a, const StageMemory& b) {
  CHECK(a.rank == b.rank);
  CHECK(a.parameters == b.parameters);
  CHECK(a.gradients == b.gradients);
  CHECK(a.optimizer == b.optimizer);
  CHECK(a.activations == b.activations);
  CHECK(a.loss == b.loss);
  CHECK(a.workspace == b.workspace);
  CHECK(a.gathered == b.gathered);
  CHECK(a.reduced == b.reduced);
  CHECK(a.exchange == b.exchange);
  CHECK(a.received == b.received);
  CHECK(a.moment == b.moment);
  CHECK(a.in_flight == b.in_flight);
  CHECK(a.reserved == b.reserved);
  CHECK(a.outside == b.outside);
}

}  // namespace

TEST_CASE("What is kept from plan to plan leaves the memory of stages as it is", "[unit]") {
  for (const std::vector<Experiment>& plans : {dense_plans(), expert_plans()}) {
    SolvedSteps kept;
    // Twice, so that the second round is answered from what was kept.
    for (const int round : {1, 2}) {
      for (std::size_t i = 0; i < plans.size(); ++i) {
        CAPTURE(round, i);
        const ParallelPlan plan = settled_plan(plans[i]);
        const ExpansionContext context{plans[i].model, plan, plans[i].training, plans[i].software};
        const std::vector<StageMemory> alone = memory_by_stage(context);
        const std::vector<StageMemory> stages = kept.memory(kept.outline(context), context);
        REQUIRE(stages.size() == alone.size());
        for (std::size_t stage = 0; stage < stages.size(); ++stage) {
          check_same(stages[stage], alone[stage]);
        }
      }
    }
  }
}

TEST_CASE("The plans before change no number of a plan", "[unit]") {
  for (const std::vector<Experiment>& plans : {dense_plans(), expert_plans()}) {
    const CostModel cost = default_cost_model();
    PlanProjector many(plans.front(), cost);
    for (std::size_t i = 0; i < 2 * plans.size(); ++i) {
      // To and fro.
      const std::size_t at = i < plans.size() ? i : 2 * plans.size() - 1 - i;
      CAPTURE(i, at);
      const ParallelPlan plan = settled_plan(plans[at]);
      PlanProjector one(plans[at], cost);
      one.take(plan, plans[at].training);
      many.take(plan, plans[at].training);
      const std::vector<StageMemory> alone = one.memory();
      const std::vector<StageMemory> after = many.memory();
      REQUIRE(alone.size() == after.size());
      for (std::size_t stage = 0; stage < alone.size(); ++stage) {
        check_same(after[stage], alone[stage]);
        CHECK(after[stage].verdict == alone[stage].verdict);
      }
      const StepAtClock expected = one.step();
      const StepAtClock step = many.step();
      CHECK(step.clock == expected.clock);
      CHECK(step.power == expected.power);
      CHECK(step.time.step == expected.time.step);
      CHECK(step.time.breakdown.compute == expected.time.breakdown.compute);
      CHECK(step.time.breakdown.exposed == expected.time.breakdown.exposed);
      CHECK(step.time.breakdown.bubble == expected.time.breakdown.bubble);
      CHECK(step.time.slowest_rank == expected.time.slowest_rank);
      CHECK(many.rates(step.time.step).mfu == one.rates(step.time.step).mfu);
    }
  }
}

}  // namespace stepcast::plan_projector_test
