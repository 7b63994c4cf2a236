// SPDX-License-Identifier: Apache-2.0
// Which calls of a trace are the step that is looked at (measured_step.hpp says which).
#pragma once

#include <string>
#include <vector>

#include "traces/trace_recording.hpp"

namespace stepcast {

struct ChosenStep {
  std::string name;                // empty: the whole trace
  bool follows_others = false;     // steps ran right before it
  double until = -1.0;             // where the next one begins; below 0: not recorded
  std::vector<std::size_t> calls;  // places in TraceRecording::calls
};

ChosenStep chosen_step(const TraceRecording& recording, const std::string& file,
                       const std::string& wanted);

}  // namespace stepcast
