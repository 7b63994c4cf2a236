// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/step_parts.hpp"

#include <algorithm>

namespace stepcast {

std::string_view name_of_part(std::size_t part) {
  return part == kWaitingPart ? "waiting"
         : part == kIdlePart  ? "idle"
                              : name(static_cast<StepCategory>(part));
}

StepParts parts_of(const MeasuredStep& step) {
  StepParts parts;
  for (std::size_t i = 0; i < kStepCategories; ++i) {
    parts[i] = step.summary.device_time[i] - step.summary.waiting[i];
  }
  parts[kWaitingPart] = step.exposed_waiting;
  parts[kIdlePart] = step.summary.idle;
  return parts;
}

StepParts parts_of(const PredictedStep& step) {
  StepParts parts;
  std::ranges::copy(step.device_time, parts.begin());
  parts[kIdlePart] = step.idle;
  return parts;
}

}  // namespace stepcast
