// SPDX-License-Identifier: Apache-2.0
// Whether a step can be captured in one CUDA graph. A graph replays launches whose shapes are those
// of its capture, without the host, so that nothing may depend on what the host reads in between.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "stepcast/base/enum_names.hpp"
#include "stepcast/model/model_spec.hpp"
#include "stepcast/plan/parallel_plan.hpp"
#include "stepcast/plan/software_spec.hpp"

namespace stepcast {

enum class CaptureBlocker {
  kHostReadsRows,    // the host waits for the number of rows that arrive
  kDynamicRows,      // tensors of the experts have as many rows as arrive
  kExpertsOneByOne,  // each expert is a launch of its own, for as many rows as it has
  kChecksGradients,  // the host reads whether gradients are numbers
};

// As a report says it.
template <>
inline constexpr std::array<std::string_view, 4> kNamesOf<CaptureBlocker> = {
    "the host reads how many rows arrive at every dispatch",
    "tensors of the experts have as many rows as arrive",
    "experts are launched one by one, each for its own rows",
    "the host reads whether gradients are numbers"};

// In the order of the enumeration; none: the step can be captured. The plan is settled.
std::vector<CaptureBlocker> capture_blockers(const ModelSpec& model, const ParallelPlan& plan,
                                             const SoftwareSpec& software);

}  // namespace stepcast
