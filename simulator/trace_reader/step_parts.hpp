// SPDX-License-Identifier: Apache-2.0
// The parts of a step on one device, the same of a trace and of a projection: the device time of
// each kind of work without waiting, the time that waits for other ranks and does nothing else, and
// the time in which nothing runs. Kinds of work run beside each other: the parts do not add up.
#pragma once

#include <array>
#include <string_view>

#include "trace_reader/measured_step.hpp"
#include "trace_reader/predicted_categories.hpp"

namespace stepcast {

inline constexpr std::size_t kWaitingPart = kStepCategories;
inline constexpr std::size_t kIdlePart = kStepCategories + 1;
inline constexpr std::size_t kStepParts = kStepCategories + 2;
using StepParts = std::array<Seconds, kStepParts>;

std::string_view name_of_part(std::size_t part);  // "gemm", "waiting", "idle"

StepParts parts_of(const MeasuredStep& step);
// The projection waits for no rank but in a pipeline, and calls that idle.
StepParts parts_of(const PredictedStep& step);

}  // namespace stepcast
