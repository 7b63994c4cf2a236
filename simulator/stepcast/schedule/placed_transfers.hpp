// SPDX-License-Identifier: Apache-2.0
// What one pipeline rank sends and receives in a step, and when.
//
// A transfer starts when its producer ends and takes the same time for all (pipeline_timeline.hpp);
// it is a kernel on both ranks, so that one may begin before another one of the same rank has
// ended.
#pragma once

#include <cstdint>
#include <vector>

#include "stepcast/plan/parallel_plan.hpp"
#include "stepcast/schedule/step_timer.hpp"

namespace stepcast {

enum class TransferEnd { kSends, kReceives };

// Of activations, or of their gradients, to or from another pipeline rank.
struct PlacedTransfer {
  TransferEnd end_of = TransferEnd::kSends;
  std::int64_t peer = 0;  // pipeline rank
  std::int32_t micro_batch = 0;
  Seconds start;
  Seconds end;
};

// By start.
std::vector<PlacedTransfer> placed_transfers(const ParallelPlan& plan, const StepSchedule& schedule,
                                             std::size_t rank);

}  // namespace stepcast
