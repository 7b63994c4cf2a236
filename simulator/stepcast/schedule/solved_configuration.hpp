// SPDX-License-Identifier: Apache-2.0
// The stages of all plans with one layer configuration (schedule/solved_steps.hpp), solved once:
// the memory that each class of stage needs, and how long it takes at each clock.
//
// Every function is given the context of the plan at hand. What it returns depends on the layer
// configuration, the class of the stage and the clock only, so it is the same for all those plans.
#pragma once

#include <deque>
#include <list>
#include <optional>
#include <vector>

#include "stepcast/layer/built_stage.hpp"
#include "stepcast/memory/stage_holding.hpp"
#include "stepcast/schedule/layer_prices.hpp"
#include "stepcast/schedule/least_stage.hpp"
#include "stepcast/schedule/stage_time.hpp"

namespace stepcast {

// A stage at a clock.
struct SolvedStage {
  StageTime time;
  StageDuration duration;  // what the pipeline needs to know of `time`
  FabricTimes fabrics;
};

// What an optimizer step takes of a rank.
struct OptimizerTime {
  TimeBreakdown spent;
  Joules energy;
};

class SolvedConfiguration {
 public:
  // `work`: of the layer division of the plan.
  SolvedConfiguration(const ExpansionContext& context, std::shared_ptr<LayerWork> work);

  // The number under which a class of stages is kept here; `index` is a stage of the plan that is
  // of the class.
  std::size_t stage(const StageClass& stage, const ExpansionContext& context, std::size_t index);

  // What is kept of a class, by its number.
  const StageHolding& holding(std::size_t stage, const ExpansionContext& context);
  Bytes exchange_memory(const ExpansionContext& context);
  [[nodiscard]] const HeldWeights& weights(std::size_t stage) const {
    return stages_[stage].weights;
  }
  [[nodiscard]] const BuiltStage& built(std::size_t stage) const { return stages_[stage].built; }
  CommunicationLoad load(std::size_t stage, const StepContext& context);

  // The times of the stages at one clock, while communication takes one load of the device.
  class AtClock;
  AtClock& at(const StepContext& context, const CommunicationLoad& load);
  // The stages stay.
  void forget_times();

 private:
  struct Stage {
    StageClass key;
    BuiltStage built;
    std::vector<LayerRun> runs;
    HeldWeights weights;
    std::optional<StageHolding> holding;
    std::optional<CommunicationLoad> load;
  };

  TrafficRule rule_;
  std::shared_ptr<LayerWork> work_;
  StageBuilder builder_;
  LayerCollector layers_;
  std::deque<Stage> stages_;
  std::optional<Bytes> exchange_memory_;
  std::list<AtClock> clocks_;
};

class SolvedConfiguration::AtClock {
 public:
  AtClock(const SolvedConfiguration& configuration, Hertz clock, const CommunicationLoad& load)
      : configuration_(&configuration), clock_(clock), load_(load) {}

  const SolvedStage& stage(std::size_t stage, const StepContext& context,
                           MicroBatches micro_batches);
  // What it saves to overlap a forward of one stage with a backward of another (paired_passes.hpp).
  const TimeBreakdown& saved(std::size_t forward, std::size_t backward, const StepContext& context,
                             MicroBatches micro_batches);
  // The optimizer step of a rank on which `weights` lie.
  const OptimizerTime& optimizer(const HeldWeights& weights, const StepContext& context);
  // Computation, communication and energy of one micro-batch in a stage, nothing overlapped.
  TaskSums rough(std::size_t stage, const StepContext& context);
  // What no order of its tasks can take less than.
  LeastStage least(std::size_t stage, const StepContext& context, PassMode mode);
  StagePasses passes(std::size_t stage, const StepContext& context);

 private:
  friend class SolvedConfiguration;
  struct Pair {
    std::size_t forward = 0;
    std::size_t backward = 0;
    MicroBatches micro_batches = MicroBatches::kSeveral;
    TimeBreakdown saved;
  };
  struct Update {
    HeldWeights weights;
    OptimizerTime time;
  };
  struct Solved {
    std::optional<SolvedStage> with_one;  // micro-batch
    std::optional<SolvedStage> with_several;
  };

  [[nodiscard]] StageProgram program(std::size_t stage, const StepContext& context);

  const SolvedConfiguration* configuration_;
  Hertz clock_;
  CommunicationLoad load_;
  StepTasks tasks_;           // of the layers collected so far
  std::vector<bool> priced_;  // of tasks_
  std::deque<Solved> stages_;
  std::deque<Pair> pairs_;
  std::deque<Update> updates_;
};

}  // namespace stepcast
