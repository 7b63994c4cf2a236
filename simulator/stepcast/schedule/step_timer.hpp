// SPDX-License-Identifier: Apache-2.0
// Prices a step at any clock; what costs time is kept between calls, and from plan to plan where
// the caller keeps it (solved_steps.hpp).
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "stepcast/schedule/least_step.hpp"
#include "stepcast/schedule/solved_steps.hpp"
#include "stepcast/schedule/step_listener.hpp"
#include "stepcast/schedule/step_time.hpp"

namespace stepcast {

// A listener hears a step's tasks one by one (step_listener.hpp) where all ranks have no more
// forward passes than this; each pass takes some 200 bytes with its backward.
inline constexpr std::int64_t kMostPlacedPasses = std::int64_t{1} << 18;
inline std::int64_t forward_passes(const ParallelPlan& plan) {
  return plan.pp * plan.vpp * plan.micro_batches;
}
inline bool can_be_placed(const ParallelPlan& plan) {
  return forward_passes(plan) <= kMostPlacedPasses;
}

class StepTimer {
 public:
  // Clocks at which a step is priced, a share of the peak apart.
  static constexpr std::int64_t kGrid = 32;
  // The lowest of them, below which no power limit puts a part.
  static constexpr std::int64_t kLowest = kGrid / 4;
  static Hertz grid_clock(const DeviceSpec& device, std::int64_t index);

  // `context.clock` is ignored.
  explicit StepTimer(const StepContext& context);
  // The same with what `solved` keeps; `outline` is that of the context's plan.
  StepTimer(const StepContext& context, SolvedSteps& solved, PlanOutline outline);

  // The step at exactly this clock. A listener hears it meanwhile, if one is given, where the plan
  // can be placed: the step is the same, to 1e-11 of it, and takes as long as all its tasks.
  StepTime at(Hertz clock, StepListener* listener = nullptr);
  // The same from the steps at the two clocks of the grid around it: times are linear in the period
  // between them, which is off by less than 0.4 %, or 0.6 where passes run side by side.
  [[nodiscard]] StepTime near(Hertz clock);
  // The step at `index` / kGrid of the peak clock; solved once and kept.
  [[nodiscard]] const StepTime& on_grid(std::int64_t index);
  [[nodiscard]] Hertz grid_clock(std::int64_t index) const {
    return grid_clock(context_.cluster.device, index);
  }
  // About what the middle stage does at a clock of the grid, nothing overlapped: where a search
  // begins.
  struct RoughStep {
    double duty = 1.0;  // share of the time that it computes
    Seconds compute;
    Joules energy;
  };
  [[nodiscard]] RoughStep rough(std::int64_t index);
  // What the step takes at least at a clock of the grid.
  [[nodiscard]] LeastStep least(std::int64_t index) { return least_at(grid_clock(index)); }
  [[nodiscard]] LeastStep least_at(Hertz clock);

 private:
  struct Known {
    std::int64_t index = 0;
    StepTime time;
  };
  [[nodiscard]] StepContext at_clock(Hertz clock) const {
    return {context_.expansion, context_.cluster, context_.cost, clock};
  }
  void lay_out();
  [[nodiscard]] PipelineRuntime runtime() const;
  SolvedConfiguration::AtClock& prices(const StepContext& context);

  StepContext context_;
  std::unique_ptr<SolvedSteps> own_;  // where no other is given
  SolvedSteps* solved_;
  PlanOutline outline_;
  std::vector<RankStage> rank_stages_;  // rank-major
  CommunicationLoad load_;
  bool pairs_ = false;
  PlanPipeline pipeline_;
  Seconds transfer_;
  Fabric transfer_fabric_ = Fabric::kNone;
  std::deque<Known> known_;
};

}  // namespace stepcast
