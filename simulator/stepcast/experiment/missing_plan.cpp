// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/missing_plan.hpp"

#include "stepcast/experiment/plan_climb.hpp"

namespace stepcast {
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
    experiment.named.plan_assumed = true;
  }
}

}  // namespace stepcast
