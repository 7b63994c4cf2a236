// SPDX-License-Identifier: Apache-2.0
// A placed step that is short enough for a trace: one that `trace-compare` reads again, which takes
// 2.5 million events, and a kernel is three of them.
#pragma once

#include "stepcast/schedule/placed_step.hpp"

namespace stepcast {

inline constexpr std::int64_t kMostTracedKernels = 800'000;
// Times of a trace are whole nanoseconds, of which 64 bits count 292 years.
inline constexpr Seconds kLongestTraced{1e9};

// Of pipeline rank `rank`. Throws ConfigError for a step of more kernels, or a longer one.
PlacedStep traced_step(const StepContext& context, std::int64_t rank);

}  // namespace stepcast
