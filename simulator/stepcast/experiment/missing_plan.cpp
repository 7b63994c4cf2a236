// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/missing_plan.hpp"

#include "stepcast/experiment/plan_climb.hpp"

namespace stepcast {
void settle_missing_plan(Experiment& experiment, const CostModel& cost, const KeySet& given) {
  if (experiment.plan.given) {
    return;
  }
  PlanTrials trials(experiment, cost);
  const std::optional<RunningPlan> best =
      climb_from(trials, usual_starts(experiment, given), given);
  if (best) {
    experiment.plan = best->change.plan;
    experiment.training = best->change.training;
    experiment.named.plan_assumed = true;
  }
}

}  // namespace stepcast
