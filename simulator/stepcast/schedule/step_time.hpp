// SPDX-License-Identifier: Apache-2.0
// The time of one training step under the uniform overlap rule, and where it goes.
//
//   exposed(axis) = communication - min(share(axis) * communication, computation still free to hide
//   it)
//
// for each pass of a stage over one micro-batch; then the pipeline task by task; then gradient
// reduction and parameter gathering of the step, hidden by the last backward and the first forward;
// then the optimizer. The slowest rank is the one with most to do; its keys, waiting included, add
// up to the step.
#pragma once

#include <array>
#include <vector>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/parallel/layer_expansion.hpp"
#include "stepcast/schedule/pipeline_timeline.hpp"

namespace stepcast {

// Wall time by what it is spent on.
struct TimeBreakdown {
  Seconds compute;
  Seconds contention;  // that computation takes longer beside the communication that it hides
  std::array<Seconds, kAxes> exposed;  // communication that nothing hides, by axis
  Seconds bubble;
  Seconds optimizer;
  Seconds host;

  [[nodiscard]] Seconds total() const;
  [[nodiscard]] Seconds communication() const;
  TimeBreakdown& operator+=(const TimeBreakdown& other);
};
TimeBreakdown operator*(double factor, TimeBreakdown breakdown);

// One pass of one stage over one micro-batch: computation, and communication before anything hides
// it.
struct PassTime {
  Seconds compute;
  std::array<Seconds, kAxes> communication;
  Seconds weight;  // the part of `compute` that are gradients of weights
  Joules energy;   // of the computation, above idle

  PassTime& operator+=(const PassTime& other);
};
PassTime operator*(double factor, PassTime pass);

struct StepContext {
  const ExpansionContext& expansion;
  const ClusterSpec& cluster;
  const CostModel& cost;
  Hertz clock;
};

struct StageTime {
  PassTime forward;
  PassTime backward;  // recomputation included
};

struct StepTime {
  Seconds step;
  Joules energy;                  // of the slowest rank's computation, above idle
  std::int64_t slowest_rank = 0;  // of the pipeline
  TimeBreakdown breakdown;        // of the slowest rank; its total is `step`
  TimeBreakdown hidden;           // communication of the slowest rank that computation hides
  std::vector<StageTime> stages;
  std::vector<RankTimeline> ranks;
};

// What the step's kernels run on.
KernelContext kernel_context(const StepContext& context, Detail detail = Detail::kDuration);
// Prices a list of operators, one after the other.
PassTime price(const OpList& ops, const StepContext& context);
// The share of the compute units that the communication of each axis holds while it runs.
using UnitsHeld = std::array<double, kAxes>;
UnitsHeld units_held(const StepContext& context);
// Applies the uniform overlap rule to one pass.
TimeBreakdown exposed(const PassTime& pass, const UniformOverlap& overlap,
                      const UnitsHeld& held = {});

StepTime step_time(const StepContext& context);

}  // namespace stepcast
