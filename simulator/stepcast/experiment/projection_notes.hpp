// SPDX-License-Identifier: Apache-2.0
// What a reader of a projection has to know besides its numbers: what was assumed for want of an
// input, and what ran otherwise than asked.
#pragma once

#include "stepcast/experiment/experiment.hpp"
#include "stepcast/result/projection.hpp"
#include "stepcast/schedule/step_operators.hpp"

namespace stepcast {

// What `experiment` leaves open and what stands in for it: software, host, constants.
void note_assumptions(Projection& p, const Experiment& experiment);

// What the priced step of `p` ran: the kernel of attention, the weights that are trained, a network
// that nothing meets, how far tables of measurements reach.
void note_what_ran(Projection& p, const Experiment& experiment, const StepContext& step);

}  // namespace stepcast
