// SPDX-License-Identifier: Apache-2.0
// One pass of one stage over one micro-batch, on the streams of a rank.
//
// FSDP2 as it runs: when a layer begins to compute, the next one's parameters are gathered; a layer
// waits for its own, copies them out, computes, and (backward) concatenates its gradients, waits
// for the reduction before and posts its own. ZeRO 0 to 2 gather in the first forward and reduce in
// the last backward of a step in the same way, bucket by bucket, or all at once where the software
// does not overlap them.
//
// Layers of one kind in a row are simulated until two of them take the same time and leave the same
// communication behind; the others repeat that.
#pragma once

#include "stepcast/schedule/host_transfers.hpp"
#include "stepcast/schedule/layer_prices.hpp"
#include "stepcast/schedule/rank_streams.hpp"

namespace stepcast {

// Where in a step the pass is.
struct PassPlace {
  bool first =
      false;  // forward of the first micro-batch: it begins when the first layer is gathered
  bool last = false;       // backward of the last micro-batch, which reduces what is reduced once
  Seconds host_lead{1e6};  // of the host at its start; far ahead unless a pass before says less

  // Whether the forward gathers, and the backward reduces, what is moved so often.
  [[nodiscard]] bool gathers(Frequency frequency) const {
    return frequency == Frequency::kEveryMicroBatch ||
           (first && frequency == Frequency::kOnceAStep);
  }
  [[nodiscard]] bool reduces(Frequency frequency) const {
    return frequency == Frequency::kEveryMicroBatch || (last && frequency == Frequency::kOnceAStep);
  }
};

struct PassTime {
  TimeBreakdown spent;   // its total is the duration
  TimeBreakdown hidden;  // communication that computation hides
  Joules energy;         // of the computation, above idle
  Seconds weight;        // of `spent`, weight gradients (weight_part)
  Seconds host_lead;     // at its end
  Seconds backlog;       // data-parallel communication that is left when it ends

  [[nodiscard]] Seconds duration() const { return spent.total(); }
};

// What of a backward pass may run at any later time, its gradients of weights with their reduction:
// all of it but what gradients of inputs need for their kernels and communication or for their
// launches, whichever is longer. `sums` are those of the tasks of the pass, which took the host
// `launching` in all.
Seconds weight_part(const TimeBreakdown& spent, const TaskSums& sums, Seconds launching);

struct StageProgram {
  const StepTasks& tasks;
  const std::vector<LayerRun>& runs;
  TrafficRule rule;
  const SoftwareSpec& software;
  HostTraffic traffic{};
};

// How long the gathers of a stage's parameters take before its first forward: of the first layer,
// and of all of them.
struct GatherTime {
  Seconds first;
  Seconds all;
};
GatherTime first_gather(const StageProgram& program);

PassTime forward_pass(const StageProgram& program, const PassPlace& place,
                      std::vector<StreamSpan>* record = nullptr);
PassTime backward_pass(const StageProgram& program, const PassPlace& place,
                       std::vector<StreamSpan>* record = nullptr);

}  // namespace stepcast
