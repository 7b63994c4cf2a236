// SPDX-License-Identifier: Apache-2.0
// The chain of tasks that determines how long a step takes.
//
// A listener of the step (step_listener.hpp) hears what each task waited for. The chain is walked
// back from the end of the rank that ends last: to the task before on the same rank where a task
// began as soon as its rank was free; else over the transfer of the input that it waited for to the
// task of another rank that made it; else to the gather of parameters, which begins with the step.
// Nothing on the chain waits, so that its segments add up to the step.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "stepcast/schedule/step_time.hpp"

namespace stepcast {

enum class PathKind {
  kForward,
  kBackward,  // the whole of it, or only that of the input
  kWeightGradient,
  kForwardAndBackward,  // side by side
  kTransfer,            // of an input from another rank
  kParameters,          // a wait for the first gather
  kReduction,           // of gradients, after the last task
  kOptimizer,           // with the collectives around it
  kHost,                // once a step
};
template <>
inline constexpr std::array<std::string_view, 9> kNamesOf<PathKind> = {"forward",
                                                                       "backward",
                                                                       "weight gradient",
                                                                       "forward and backward",
                                                                       "transfer",
                                                                       "wait for parameters",
                                                                       "reduction",
                                                                       "optimizer",
                                                                       "host"};

// A run of segments of one kind on one pipeline rank; a transfer is of the rank that receives.
struct PathSegment {
  std::int64_t rank = 0;
  PathKind kind = PathKind::kForward;
  std::int64_t count = 0;
  Seconds time;
};

// From the start of the step at `context.clock` to its end.
std::vector<PathSegment> critical_path(const StepContext& context);

}  // namespace stepcast
