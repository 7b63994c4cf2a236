// SPDX-License-Identifier: Apache-2.0
// What a step runs besides the operators of its passes, as PyTorch's profiler would write it.
#pragma once

#include "stepcast/result/projection.hpp"
#include "stepcast/schedule/step_timer.hpp"
#include "stepcast/trace/device_slices.hpp"
#include "stepcast/trace/operator_event.hpp"

namespace stepcast {

// The copies are of a micro-batch's tokens and of one number; a message goes along a group of all
// pipeline ranks.
TraceOperator further_event(FurtherOp op, const StepContext& context, const TraceNaming& naming);

}  // namespace stepcast
