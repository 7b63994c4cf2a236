// SPDX-License-Identifier: Apache-2.0
// The passes of one pipeline stage over a micro-batch: the first forward, which waits for
// parameters, the last backward, which reduces gradients, and those between them.
#pragma once

#include "stepcast/pipeline/pipeline_timeline.hpp"
#include "stepcast/schedule/pass_timeline.hpp"

namespace stepcast {

// Overlap as a share of each kind of communication, in place of the timeline: what Primus and
// others assume.
//
//   exposed(axis) = communication - min(share(axis) * communication, computation still free to hide
//                   it), which is what hides nothing inside its own kernels (overlap_windows.hpp)
//   contention    = hidden communication * share of the compute units that it occupies

// Computation and communication of a pass, summed up before any of it is hidden.
struct PassTotals {
  Seconds compute;
  std::array<Seconds, kAxes> communication{};
};

// The share of the compute units that the communication of each axis occupies while it runs.
using OccupiedShares = std::array<double, kAxes>;

TimeBreakdown exposed(const PassTotals& pass, const UniformOverlap& overlap,
                      const OccupiedShares& occupied = {});

struct StageTime {
  PassTime first_forward;
  PassTime forward;
  PassTime backward;  // recomputation included
  PassTime last_backward;
  GatherTime gather;
};

// How many micro-batches a step has, as far as the times of a stage depend on it.
enum class MicroBatches {
  kOne,  // the first forward is also the last, and so is the backward
  kSeveral,
};

// A pass of the stage on the timeline of its streams (pass_timeline.hpp), or by shares where the
// plan says so. Its spans are added to `record`, if it is given.
//
// Shares have no times within a pass. Their spans follow one another as the operators do;
// computation is longer by the contention of the whole pass, and each communication is exposed for
// the same share of its axis. What of it is hidden runs beside the kernels before it, or from the
// start of the pass where there are none.
PassTime forward_of(const StageProgram& program, const PassPlace& place, const StepContext& context,
                    std::vector<StreamSpan>* record = nullptr);
PassTime backward_of(const StageProgram& program, const PassPlace& place,
                     const StepContext& context, std::vector<StreamSpan>* record = nullptr);

StageTime stage_time(const StageProgram& program, const StepContext& context,
                     MicroBatches micro_batches);

// What the pipeline needs to know of a stage; its parameters are gathered as if the rank ran no
// other stage.
StageDuration duration_of(const StageTime& stage);

// What is gathered before the stage's passes over its micro-batches, and what these gather and
// reduce, hidden or not: one stream carries it, one after the other.
Seconds data_traffic(const StageTime& stage, std::int64_t micro_batches);

// The share of the compute units that communication over each axis occupies.
OccupiedShares occupied_shares(const StepContext& context);

// Communication over each fabric, by Fabric, that a stage runs for every micro-batch.
using FabricTimes = std::array<Seconds, 3>;
FabricTimes fabric_times(const StageProgram& program);

}  // namespace stepcast
