// SPDX-License-Identifier: Apache-2.0
// Experiment -> Projection: the whole simulator as one pure function.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/result/projection.hpp"

namespace stepcast {

// A plan that divides but does not fit, or whose clock the power limit does not leave, is priced
// all the same, with the reasons why it cannot run.
Projection project(const Experiment& experiment, const CostModel& cost);

// The run that such a step is one of; nothing where the experiment has no tokens to train on.
std::optional<TrainingRun> run_of(const Experiment& experiment, const TrainingRecipe& training,
                                  Seconds step, Watts power);

// The experiment with its plan settled, or the reasons why it does not divide; nothing is priced.
Projection settled(const Experiment& experiment);

// An experiment for which no plan was found, with what was asked and the reasons.
Projection without_plan(const Experiment& experiment, std::vector<std::string> reasons);

}  // namespace stepcast
