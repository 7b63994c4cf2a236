// SPDX-License-Identifier: Apache-2.0
// The passes of uniform_overlap.hpp as spans, which that rule has no times of its own for.
//
// Operators follow one another; computation is longer by the contention of the whole pass, and each
// communication is exposed for the same share of its axis. What of it is hidden runs beside the
// kernels before it, or from the start of the pass where there are none.
#pragma once

#include <vector>

#include "stepcast/schedule/pass_timeline.hpp"

namespace stepcast {

// `time` is what the rule makes of the same pass.
std::vector<StreamSpan> uniform_forward_spans(const StageProgram& program, const PassPlace& place,
                                              const PassTime& time);
std::vector<StreamSpan> uniform_backward_spans(const StageProgram& program, const PassPlace& place,
                                               const PassTime& time);

}  // namespace stepcast
