// SPDX-License-Identifier: Apache-2.0
// Which of the savings that people take first make a plan fit that does not, and what they cost.
//
// Savings leave the model, what is trained of it, the tokens of a step and the number of GPUs as
// they are: full recomputation, micro-batches of one sequence, full sharding, weights of 16 bits,
// the loss in chunks, moments of 8 bits, the optimizer on the host. Each alone is tried, then two
// and three together; a set that holds another that fits is left out.
#pragma once

#include <vector>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/result/projection.hpp"

namespace stepcast {

// At most three, the fastest first; none where the plan of `projection` fits or does not divide.
std::vector<FittingPlan> cheapest_savings(const Projection& projection,
                                          const Experiment& experiment, const CostModel& cost);

}  // namespace stepcast
