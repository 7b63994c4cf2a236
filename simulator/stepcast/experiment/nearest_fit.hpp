// SPDX-License-Identifier: Apache-2.0
// What would make a plan fit that does not.
//
// Tried are more recomputation, a higher ZeRO stage, more tensor and pipeline parallelism and
// smaller micro-batches: each alone, and where none of them is enough every two of them. Of those
// that fit the one with the highest rate is named.
#pragma once

#include <optional>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/result/projection.hpp"

namespace stepcast {

// Of what the plan of `projection` divides and does not fit; nothing of any other, nor where its
// clock is what the power limit does not leave, which another plan does not mend. Without changes
// where two of them are not enough.
std::optional<FittingPlan> nearest_fit(const Projection& projection, const Experiment& experiment,
                                       const CostModel& cost);

}  // namespace stepcast
