// SPDX-License-Identifier: Apache-2.0
// What would make a plan fit that does not: the fastest of its single changes that runs, else of
// the changes of the lightest one, and so on (plan_climb.hpp); where none is found, more GPUs.
#pragma once

#include <optional>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/result/projection.hpp"

namespace stepcast {

// Of what the plan of `projection` divides and does not fit; nothing of any other, nor where its
// clock is what the power limit does not leave, which another plan does not mend. Without changes
// where none of the plans near it runs.
std::optional<FittingPlan> nearest_fit(const Projection& projection, const Experiment& experiment,
                                       const CostModel& cost);

}  // namespace stepcast
