// SPDX-License-Identifier: Apache-2.0
// Experiment -> Explanation: the operators of the slowest pipeline rank, and why they take as long.
#pragma once

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/result/explanation.hpp"

namespace stepcast {

// A plan that does not divide has no operators, only reasons.
Explanation explain(const Experiment& experiment, const CostModel& cost);

// Why the second takes longer for a token than the first. Both have a time.
Difference difference_of(const Explanation& first, const Explanation& second);

}  // namespace stepcast
