// SPDX-License-Identifier: Apache-2.0
// A whole step of one pipeline rank: every pass of every micro-batch at its time in the pipeline,
// with the spans on the rank's streams inside, from the start of the step to its end.
//
// Times are those of StepTimer::schedule, one by one, however many micro-batches the pipeline
// repeats. Passes of one kind share one list of spans, so that what is held grows with the passes,
// not with their kernels. What the streams of a pass leave to run when it ends goes on beside the
// next one; what the last backward of a chunk leaves waits for that of the chunks that ended
// before, as the step's time has it. A pair whose forward is the first of its chunk, or whose
// backward is the last, adds what these move of parameters and gradients.
#pragma once

#include <cstdint>
#include <vector>

#include "stepcast/pipeline/pipeline_order.hpp"
#include "stepcast/schedule/pass_recorder.hpp"
#include "stepcast/schedule/placed_transfers.hpp"

namespace stepcast {

enum class PassPart {
  kParameters,  // gathered before the first forward of a chunk
  kForward,
  kBackward,
  kInputGradient,
  kWeightGradient,
  kForwardAndBackward,
  kOptimizer,
};
std::string_view name(PassPart part);

struct PlacedPass {
  PassPart part = PassPart::kForward;
  PipelineTask task;        // of the last and the first part: of no meaning but the chunk
  std::size_t program = 0;  // place in PlacedStep::programs
  Seconds start;            // in the step
  Seconds end;
  Seconds left_later;  // by which communication that begins after `end` is delayed further
};

struct PlacedStep {
  std::vector<Op> ops;          // that StreamSpan::op speaks of
  std::vector<OpPlace> places;  // of `ops`
  std::vector<std::vector<StreamSpan>> programs;
  std::vector<PlacedPass> passes;         // by start
  std::vector<PlacedTransfer> transfers;  // by start
  Seconds step;                           // of the slowest rank: how long all take
};

// Of pipeline rank `rank` at `context.clock`.
PlacedStep placed_step(const StepContext& context, std::int64_t rank);

}  // namespace stepcast
