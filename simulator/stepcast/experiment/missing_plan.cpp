// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/missing_plan.hpp"

#include "stepcast/base/units_text.hpp"
#include "stepcast/experiment/plan_climb.hpp"
#include "stepcast/plan/plan_text.hpp"

namespace stepcast {
namespace {

constexpr std::int64_t kMostSearched = 3'000;  // about half a second
constexpr std::int64_t kMostRanks = 16;       // of a pipeline that a climb starts with

std::string note_on(const RunningPlan& found, std::int64_t tried) {
  const TrainingRecipe& training = found.change.training;
  return "no plan given: the fastest of " + with_separators(tried) +
         " near the usual one is taken, with micro-batch " +
         std::to_string(training.micro_batch_size) + " and recompute " +
         recompute_text(training.recompute) + "; compare --best-plan looks at all";
}

// Where climbs begin: the usual plan, and pipelines of 1, 2, 4 ... ranks with ZeRO 1, each with the
// experts over a node and over eight of them.
std::vector<PlanChange> starts_of(const Experiment& site) {
  const ParallelPlan usual =
      settle_plan(site.plan, site.model, site.training, site.cluster, site.software).plan;
  std::vector<PlanChange> starts = {unchanged_plan(site, usual)};
  const std::int64_t gpus = site.cluster.gpus();
  for (std::int64_t pp = 1; pp <= kMostRanks && pp <= site.model.layers; pp *= 2) {
    const std::int64_t node = site.cluster.gpus_per_node;
    for (const std::int64_t ep : {node, 8 * node}) {
      const bool divides =
          site.model.moe && site.model.moe->experts % ep == 0 && gpus % (pp * ep) == 0;
      if (gpus % pp != 0 || (ep > node && !divides)) {
        continue;
      }
      PlanChange& start = starts.emplace_back(starts.front());
      start.plan.tp = 1;
      start.plan.pp = pp;
      start.plan.zero = 1;
      start.plan.ep = divides ? ep : 1;
      start.plan.layout = site.model.layers % pp == 0 ? "" : "balanced";
    }
  }
  return starts;
}

}  // namespace

void settle_missing_plan(Experiment& experiment, const CostModel& cost, const KeySet& given) {
  if (experiment.plan.given) {
    return;
  }
  // Of many plans one that is sure to fit is wanted: what it reserves is there.
  Experiment site = experiment;
  site.cluster.device.hbm.margin = site.cluster.device.hbm.margin.value_or(0.0);
  PlanTrials trials(site, cost);
  std::optional<RunningPlan> best;
  for (const PlanChange& start : starts_of(site)) {
    const std::int64_t left = kMostSearched - trials.tried();
    std::optional<RunningPlan> found =
        left > 0 ? climb(trials, {start, given}, left) : std::nullopt;
    if (found && (!best || found->tokens_per_second_per_gpu > best->tokens_per_second_per_gpu)) {
      best = std::move(found);
    }
  }
  if (best) {
    experiment.plan = best->change.plan;
    experiment.training = best->change.training;
    experiment.notes.insert(experiment.notes.begin(), note_on(*best, trials.tried()));
  }
}

}  // namespace stepcast
