// SPDX-License-Identifier: Apache-2.0
// The time of one training step, and where it goes.
//
// Every kind of pass of a stage is solved once on the streams of a rank (pass_timeline.hpp): the
// first forward, which waits for parameters, the last backward, which reduces gradients, and those
// between them; the pipeline then runs task by task with these durations, and the optimizer ends
// the step. The slowest rank is the one with most to do; its keys, waiting included, add up to the
// step.
#pragma once

#include <vector>

#include "stepcast/schedule/paired_passes.hpp"
#include "stepcast/schedule/pass_timeline.hpp"
#include "stepcast/schedule/pipeline_timeline.hpp"
#include "stepcast/schedule/uniform_overlap.hpp"

namespace stepcast {

// The passes of one stage; with one micro-batch the first is the last.
struct StageTime {
  PassTime first_forward;
  PassTime forward;
  PassTime backward;  // recomputation included
  PassTime last_backward;
  GatherTime gather;
};

struct StepTime {
  Seconds step;
  Joules energy;                  // of the slowest rank's computation, above idle
  std::int64_t slowest_rank = 0;  // of the pipeline
  TimeBreakdown breakdown;        // of the slowest rank; its total is `step`
  TimeBreakdown hidden;           // communication of the slowest rank that computation hides
  std::vector<StageTime> stages;
  std::vector<RankTimeline> ranks;  // of the pipeline, without what follows it
};

UnitsHeld units_held(const StepContext& context);

// Prices a step at any clock; what costs time is kept between calls.
class StepTimer {
 public:
  // Clocks at which a step is priced, a share of the peak apart.
  static constexpr std::int64_t kGrid = 32;

  // `context.clock` is ignored.
  explicit StepTimer(const StepContext& context);

  // At exactly this clock, with the spans of the pipeline, which the others leave out.
  [[nodiscard]] StepTime at(Hertz clock) const;
  // The same from prices at the two clocks of the grid around it: times are linear in the period
  // between them, which is off by less than 0.3 %.
  [[nodiscard]] StepTime near(Hertz clock);
  // At `index` / kGrid of the peak clock.
  [[nodiscard]] StepTime on_grid(std::int64_t index);
  [[nodiscard]] Hertz grid_clock(std::int64_t index) const;
  // About what the first stage does at the peak clock, nothing overlapped: where a search begins.
  struct RoughStep {
    double duty = 1.0;  // share of the time that it computes
    Seconds compute;
    Joules energy;
  };
  [[nodiscard]] RoughStep rough();

 private:
  struct Node {
    std::int64_t index = 0;
    StepTasks tasks;
  };
  const StepTasks& node(std::int64_t index);

  StepContext context_;
  StepWork work_;
  std::vector<RankOrder> orders_;
  std::vector<StagePair> pairs_;  // in `orders_`
  std::vector<Node> nodes_;
};

// The step at `context.clock`.
StepTime step_time(const StepContext& context);

}  // namespace stepcast
