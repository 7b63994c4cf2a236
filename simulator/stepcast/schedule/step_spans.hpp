// SPDX-License-Identifier: Apache-2.0
// What runs on the streams of one pipeline rank in a step, task by task.
#pragma once

#include <vector>

#include "stepcast/schedule/pass_timeline.hpp"
#include "stepcast/schedule/step_time.hpp"

namespace stepcast {

// The spans of a pass from its own start; communication that outlasts it is included.
struct PassSpans {
  std::vector<StreamSpan> spans;
  double times = 1.0;  // in a step
};

struct StepSpans {
  std::vector<Op> ops;  // that StreamSpan::op speaks of
  std::vector<PassSpans> passes;
};

// At `context.clock`. The gather of a first layer's parameters, which no pass waits for, and the
// optimizer are passes of their own.
StepSpans step_spans(const StepContext& context, std::int64_t rank);

}  // namespace stepcast
