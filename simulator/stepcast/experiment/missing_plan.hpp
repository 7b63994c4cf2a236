// SPDX-License-Identifier: Apache-2.0
// The plan of an experiment that gives none: the fastest that a quick search finds, from the usual
// one on (plan_climb.hpp).
#pragma once

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/experiment/plan_changes.hpp"

namespace stepcast {

// Gives `experiment` a plan where it has none, with the micro-batch and the recomputation that go
// with it but for keys that are `given`, and says so in `named`. Where no plan was found it stays
// as it is: settling it says why it cannot run.
void settle_missing_plan(Experiment& experiment, const CostModel& cost, const KeySet& given);

}  // namespace stepcast
