// SPDX-License-Identifier: Apache-2.0
// The time of one training step, and where it goes.
//
// Every kind of pass of a stage is solved once on the streams of a rank (stage_time.hpp); the
// pipeline then runs task by task with these durations, and the optimizer ends the step. The
// slowest rank is the one with most to do; its keys, waiting included, add up to the step.
#pragma once

#include <memory>
#include <vector>

#include "stepcast/schedule/pipeline_timeline.hpp"
#include "stepcast/schedule/solved_steps.hpp"

namespace stepcast {

struct StepTime {
  Seconds step;
  Joules energy;                  // of the slowest rank's computation, above idle
  std::int64_t slowest_rank = 0;  // of the pipeline
  TimeBreakdown breakdown;        // of the slowest rank; its total is `step`
  TimeBreakdown hidden;           // communication of the slowest rank that computation hides
};

// The tasks of a step, and what follows them on each rank.
struct StepSchedule {
  std::vector<RankTimeline> ranks;  // of the pipeline
  std::vector<Seconds> ready;       // of each stage: when its parameters are gathered
  std::vector<Seconds> reductions;  // of each rank, after its last task
  std::vector<TimeBreakdown>
      updates;  // of each rank: the optimizer, with the collectives around it
};

// Between two clocks: every time and energy linear in the clock's period.
StepTime between(const StepTime& slow, const StepTime& fast, double share_of_fast);

// Prices a step at any clock; what costs time is kept between calls.
class StepTimer {
 public:
  // Clocks at which a step is priced, a share of the peak apart.
  static constexpr std::int64_t kGrid = 32;

  // `context.clock` is ignored.
  explicit StepTimer(const StepContext& context);
  // The same with what `solved` keeps; `outline` is that of the context's plan.
  StepTimer(const StepContext& context, SolvedSteps& solved, const PlanOutline& outline);

  // At exactly this clock.
  [[nodiscard]] StepTime at(Hertz clock);
  // The same from the steps at the two clocks of the grid around it: times are linear in the period
  // between them, which is off by less than 0.3 %.
  [[nodiscard]] StepTime near(Hertz clock);
  // At `index` / kGrid of the peak clock.
  [[nodiscard]] const StepTime& on_grid(std::int64_t index);
  [[nodiscard]] Hertz grid_clock(std::int64_t index) const;
  // About what the first stage does at the peak clock, nothing overlapped: where a search begins.
  struct RoughStep {
    double duty = 1.0;  // share of the time that it computes
    Seconds compute;
    Joules energy;
  };
  [[nodiscard]] RoughStep rough();
  // Task by task, at exactly this clock.
  [[nodiscard]] StepSchedule schedule(Hertz clock);

 private:
  struct Known {
    std::int64_t index = 0;
    StepTime time;
  };
  [[nodiscard]] StepContext at_clock(Hertz clock) const {
    return {context_.expansion, context_.cluster, context_.cost, clock};
  }
  void lay_out();
  SolvedShare::AtClock& prices(const StepContext& context);

  StepContext context_;
  std::unique_ptr<SolvedSteps> own_;  // where no other is given
  SolvedSteps* solved_;
  PlanOutline outline_;
  std::vector<HeldStage> held_;  // rank-major
  CommunicationLoad load_;
  bool pairs_ = false;
  PlanPipeline pipeline_;
  Seconds transfer_;
  Fabric transfer_fabric_ = Fabric::kNone;
  std::vector<Known> known_;
};

// The step at `context.clock`.
StepTime step_time(const StepContext& context);

}  // namespace stepcast
