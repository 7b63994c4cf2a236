// SPDX-License-Identifier: Apache-2.0
// The work of one share of the ranks (rank_share.hpp), solved once: what its stages hold, and how
// long they take at each clock.
//
// Every function is given the context of the plan at hand; what it returns depends on the share,
// the class of the stage and the clock alone, so it is the same for all plans that have the share.
#pragma once

#include <deque>
#include <list>
#include <optional>
#include <vector>

#include "stepcast/layer/stage_class.hpp"
#include "stepcast/memory/stage_holding.hpp"
#include "stepcast/schedule/stage_time.hpp"

namespace stepcast {

// A stage at a clock.
struct SolvedStage {
  StageTime time;
  StageDuration duration;  // of `time`
  FabricTimes fabrics;
};

// What an optimizer step takes of a rank.
struct OptimizerTime {
  TimeBreakdown spent;
  Joules energy;
};

class SolvedShare {
 public:
  explicit SolvedShare(const ExpansionContext& context);

  // The number of a class in this share; `index` is a stage of the plan that is of the class.
  std::size_t stage(const StageClass& stage, const ExpansionContext& context, std::size_t index);

  // Of the class `stage`.
  const StageHolding& holding(std::size_t stage, const ExpansionContext& context);
  Bytes exchange_memory(const ExpansionContext& context);
  [[nodiscard]] const LocalParameters& parameters(std::size_t stage) const {
    return stages_[stage].parameters;
  }
  CommunicationLoad load(std::size_t stage, const StepContext& context);

  // A share at one clock, beside one load of communication.
  class AtClock;
  AtClock& at(const StepContext& context, const CommunicationLoad& load);

 private:
  struct Stage {
    StageClass key;
    BuiltStage built;
    std::vector<UnitRun> runs;
    LocalParameters parameters;
    std::optional<StageHolding> holding;
    std::optional<CommunicationLoad> load;
  };

  TrafficRule rule_;
  StageBuilder builder_;
  UnitCollector units_;
  std::deque<Stage> stages_;
  std::optional<Bytes> exchange_memory_;
  std::list<AtClock> clocks_;
};

class SolvedShare::AtClock {
 public:
  AtClock(const SolvedShare& share, Hertz clock, const CommunicationLoad& load)
      : share_(&share), clock_(clock), load_(load) {}

  const SolvedStage& stage(std::size_t stage, const StepContext& context,
                           MicroBatches micro_batches);
  // What one forward of a stage beside one backward of another saves (paired_passes.hpp).
  const TimeBreakdown& saved(std::size_t forward, std::size_t backward, const StepContext& context,
                             MicroBatches micro_batches);
  // Of a rank that holds `parameters`.
  const OptimizerTime& optimizer(const LocalParameters& parameters, const StepContext& context);
  // Computation, communication and energy of one micro-batch in a stage, nothing overlapped.
  TaskSums rough(std::size_t stage, const StepContext& context);

 private:
  friend class SolvedShare;
  struct Pair {
    std::size_t forward = 0;
    std::size_t backward = 0;
    MicroBatches micro_batches = MicroBatches::kSeveral;
    TimeBreakdown saved;
  };
  struct Update {
    LocalParameters parameters;
    OptimizerTime time;
  };
  struct Solved {
    std::optional<SolvedStage> with_one;  // micro-batch
    std::optional<SolvedStage> with_several;
  };

  [[nodiscard]] StageProgram program(std::size_t stage, const StepContext& context);

  const SolvedShare* share_;
  Hertz clock_;
  CommunicationLoad load_;
  StepTasks tasks_;           // of the share's units
  std::vector<bool> priced_;  // of tasks_
  std::deque<Solved> stages_;
  std::deque<Pair> pairs_;
  std::deque<Update> updates_;
};

}  // namespace stepcast
