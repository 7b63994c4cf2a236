// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/missing_plan.hpp"

#include "stepcast/base/units_text.hpp"
#include "stepcast/experiment/plan_climb.hpp"
#include "stepcast/plan/plan_text.hpp"

namespace stepcast {
namespace {

std::string note_on(const RunningPlan& found, std::int64_t tried) {
  const TrainingRecipe& training = found.change.training;
  return "no plan given: the fastest of " + with_separators(tried) +
         " that were tried is taken, with micro-batch " +
         std::to_string(training.micro_batch_size) + " and recompute " +
         recompute_text(training.recompute) + "; compare --best-plan looks at all";
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
  const std::optional<RunningPlan> best = climb_from(trials, usual_starts(site, given), given);
  if (best) {
    experiment.plan = best->change.plan;
    experiment.training = best->change.training;
    experiment.notes.insert(experiment.notes.begin(), note_on(*best, trials.tried()));
  }
}

}  // namespace stepcast
