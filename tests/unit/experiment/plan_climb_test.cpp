// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/plan_climb.hpp"

#include <algorithm>

#include "catch.hpp"
#include "stepcast/experiment/missing_plan.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/settle/settle_plan.hpp"
#include "sweep_text.hpp"

namespace stepcast::plan_climb_test {
namespace {

Experiment experiment_of(const std::string& text) {
  return read_experiment(parse_config(text, "test.yaml"), {}, test::data_root());
}

Experiment llama(const std::string& plan, const std::string& training = "") {
  return experiment_of(
      "model: llama3.1_8b\ncluster: {gpu: h100_sxm, nodes: 2}\n"
      "training: {sequence_length: 4096, global_batch_size: 64" +
      training + "}\n" + (plan.empty() ? "" : "plan: " + plan + "\n"));
}

ParallelPlan plan_of(const Experiment& site) {
  return settle_plan(site.plan, site.model, site.training, site.cluster, site.software).plan;
}

std::vector<PlanChange> changes_of(const Experiment& site, const KeySet& kept = {}) {
  const ParallelPlan plan = plan_of(site);
  return single_changes(site, unchanged_plan(site, plan), plan, kept);
}

bool has(const std::vector<PlanChange>& changes, const PlanSettings& settings) {
  return std::ranges::any_of(changes,
                             [&](const PlanChange& change) { return change.settings == settings; });
}

}  // namespace

TEST_CASE("A plan can be changed in one key at a time", "[unit]") {
  const std::vector<PlanChange> changes = changes_of(llama("{tp: 2, pp: 2}"));
  CHECK(has(changes, {{"plan.tp", "4"}}));
  CHECK(has(changes, {{"plan.sequence_parallel", "false"}}));
  CHECK(has(changes, {{"plan.cp", "2"}}));
  CHECK(has(changes, {{"plan.zero", "0"}}));
  CHECK(has(changes, {{"plan.pp", "4"}}));
  CHECK(has(changes, {{"plan.vpp", "2"}, {"plan.schedule", "interleaved_1f1b"}}));
  CHECK(has(changes, {{"training.micro_batch_size", "2"}}));
  CHECK(has(changes, {{"training.recompute", "selective"}}));
  CHECK(has(changes, {{"training.recompute", "full"},
                      {"training.recompute_method", "block"},
                      {"training.recompute_layers", "3"}}));
  // None is the plan itself.
  CHECK_FALSE(has(changes, {}));
  CHECK_FALSE(has(changes, {{"plan.tp", "2"}}));
}

TEST_CASE("What is kept is in no change", "[unit]") {
  const std::vector<PlanChange> changes =
      changes_of(llama("{tp: 2, pp: 2}"), {"plan.tp", "training.recompute"});
  CHECK(std::ranges::none_of(changes, [](const PlanChange& change) {
    return std::ranges::any_of(change.settings, [](const auto& setting) {
      return setting.first == "plan.tp" || setting.first.starts_with("training.recompute");
    });
  }));
  CHECK(has(changes, {{"plan.pp", "4"}}));
}

TEST_CASE("Degrees that follow from others are left out where they stand in the way", "[unit]") {
  const std::vector<PlanChange> changes = changes_of(llama("{tp: 2, dp: 8}"));
  CHECK(has(changes, {{"plan.dp", "null"}, {"plan.tp", "4"}}));
}

TEST_CASE("Of recomputation by layers, the method and the layers go with it", "[unit]") {
  const std::vector<PlanChange> changes = changes_of(
      llama("{tp: 2}", ", recompute: full, recompute_method: block, recompute_layers: 4"));
  CHECK(has(changes, {{"training.recompute_method", "null"},
                      {"training.recompute_layers", "null"},
                      {"training.recompute", "none"}}));
}

TEST_CASE("A climb ends where no single change is faster", "[unit]") {
  const Experiment site = llama("{tp: 8, zero: 3}", ", recompute: full");
  const double before = project(site, default_cost_model()).tokens_per_second_per_gpu;
  PlanTrials trials(site, default_cost_model());
  const ParallelPlan plan = plan_of(site);
  const std::optional<RunningPlan> top =
      climb(trials, {unchanged_plan(site, plan), {}}, std::int64_t{1} << 20);
  REQUIRE(top);
  CHECK(top->tokens_per_second_per_gpu > before);
  CHECK_FALSE(trials.fastest(single_changes(site, top->change, top->plan, {}),
                             top->tokens_per_second_per_gpu));
  Experiment changed = site;
  changed.plan = top->change.plan;
  changed.training = top->change.training;
  const Projection p = project(changed, default_cost_model());
  CHECK(p.feasible());
  CHECK(p.tokens_per_second_per_gpu == top->tokens_per_second_per_gpu);
  CHECK(p.peak_memory() == top->peak_memory);
}

TEST_CASE("A climb stops after the plans that it may try", "[unit]") {
  const Experiment site = llama("{tp: 8, zero: 3}", ", recompute: full");
  PlanTrials trials(site, default_cost_model());
  REQUIRE(climb(trials, {unchanged_plan(site, plan_of(site)), {}}, 10));
  const std::int64_t one_step = std::ssize(changes_of(site));
  CHECK(trials.tried() <= 2 + one_step);
}

TEST_CASE("A missing plan is at least as fast as the usual one", "[unit]") {
  for (const char* model : {"llama3.1_8b", "mixtral_8x7b"}) {
    CAPTURE(model);
    const Experiment usual = experiment_of(
        "model: " + std::string(model) +
        "\ncluster: {gpu: h100_sxm, nodes: 4}\n"
        "training: {sequence_length: 4096, global_batch_size: 256, micro_batch_size: 1}\n");
    Experiment searched = usual;
    settle_missing_plan(searched, default_cost_model(), {"training.micro_batch_size"});
    CHECK(searched.plan.given);
    CHECK(searched.training.micro_batch_size == 1);
    CHECK(searched.named.plan_assumed);
    CHECK(project(searched, default_cost_model()).tokens_per_second_per_gpu >=
          project(usual, default_cost_model()).tokens_per_second_per_gpu);
  }
}

TEST_CASE("A plan that is given is left as it is", "[unit]") {
  Experiment experiment = llama("{tp: 8}");
  settle_missing_plan(experiment, default_cost_model(), {});
  CHECK(experiment.plan.tp == 8);
  CHECK_FALSE(experiment.named.plan_assumed);
}

}  // namespace stepcast::plan_climb_test
