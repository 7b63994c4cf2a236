// SPDX-License-Identifier: Apache-2.0
// A whole step of one pipeline rank, as a listener of the step has heard it (step_listener.hpp):
// every pass of every micro-batch at its time in the pipeline, with the spans on the rank's streams
// inside, from the start of the step to its end.
//
// Passes of one kind share one list of spans, so that what is held grows with the passes, not with
// their kernels.
#pragma once

#include <limits>

#include "stepcast/schedule/step_listener.hpp"
#include "stepcast/schedule/step_timer.hpp"

namespace stepcast {

enum class TransferEnd { kSends, kReceives };

// Of activations, or of their gradients, to or from another pipeline rank. A transfer is a kernel
// on both ranks, and one may begin before another one of the same rank has ended.
struct PlacedTransfer {
  TransferEnd end_of = TransferEnd::kSends;
  std::int64_t peer = 0;  // pipeline rank
  std::int32_t micro_batch = 0;
  Seconds start;
  Seconds end;
};

struct PlacedStep {
  StepOps operators;
  std::vector<std::vector<StreamSpan>> programs;  // by PlacedPass::program
  std::vector<PlacedPass> passes;                 // by start
  std::vector<PlacedTransfer> transfers;          // by start
  std::int64_t kernels = 0;                       // spans of all passes
  Seconds step;                                   // of the slowest rank: how long all take
};

// Of pipeline rank `rank` at `context.clock`. Passes are kept while they have no more than
// `most_kernels` together.
PlacedStep placed_step(const StepContext& context, std::int64_t rank,
                       std::int64_t most_kernels = std::numeric_limits<std::int64_t>::max());

}  // namespace stepcast
