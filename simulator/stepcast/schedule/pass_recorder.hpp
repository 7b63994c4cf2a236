// SPDX-License-Identifier: Apache-2.0
// The passes of a pipeline stage, recorded span by span as they are timed (stage_time.hpp), and
// what each operator of them is for.
#pragma once

#include <vector>

#include "stepcast/schedule/stage_time.hpp"

namespace stepcast {

// What an operator of a step is run for.
enum class TaskRole {
  kForward,
  kRecompute,  // what forward did, once more
  kBackward,
  kGather,  // of parameters, with the copies around it
  kReduce,  // of gradients, likewise
  kOptimizer,
};

// Where an operator is listed.
struct OpPlace {
  std::size_t layer = 0;  // of StepOperators::layers; of the optimizer none
  TaskRole role = TaskRole::kOptimizer;
};

// Spans from the start of the pass, by their start. Communication may outlast `time`.
struct RecordedPass {
  std::vector<StreamSpan> spans;
  PassTime time;
};

// A backward pass as the two tasks in which some schedules run it: the gradient of the input, with
// all that it waits for, and that of the weights, with its reductions. Each keeps the order of its
// spans and closes up; computation that would then take longer than its task is shortened to it.
// Reductions queue as far as they end when the step's time has them end.
struct SplitBackward {
  RecordedPass input;
  RecordedPass weight;
};

class PassRecorder {
 public:
  // At `context.clock`, which must outlive this.
  explicit PassRecorder(const StepContext& context);

  [[nodiscard]] const std::vector<Op>& ops() const {
    return ops_;
  }  // that StreamSpan::op speaks of
  [[nodiscard]] const std::vector<OpPlace>& places() const { return places_; }  // of `ops`
  [[nodiscard]] GatherTime gather_time(std::size_t stage) const;

  // The gathers that a stage's first forward waits for.
  [[nodiscard]] RecordedPass parameters(std::size_t stage) const;
  [[nodiscard]] RecordedPass forward(std::size_t stage, const PassPlace& place) const;
  [[nodiscard]] RecordedPass backward(std::size_t stage, const PassPlace& place) const;
  [[nodiscard]] SplitBackward split(const RecordedPass& backward) const;
  // A forward of one stage beside a backward of another one, or one after the other where that is
  // no slower.
  [[nodiscard]] RecordedPass pair(const RecordedPass& forward, std::size_t forward_stage,
                                  const RecordedPass& backward, std::size_t backward_stage) const;
  [[nodiscard]] RecordedPass optimizer(std::int64_t rank) const;

 private:
  [[nodiscard]] StageProgram program(std::size_t stage) const {
    return {tasks_, operators_.stages[stage], operators_.rule, context_.expansion.software};
  }
  void note_places();
  void note(const TaskList& tasks, const OpPlace& place);
  [[nodiscard]] bool is_weight_gradient(const StreamSpan& span) const;

  const StepContext& context_;
  StepOperators operators_;
  std::vector<Op> ops_;
  StepTasks tasks_;
  std::vector<OpPlace> places_;
  std::vector<bool> weight_gradient_;  // of `ops_`
};

}  // namespace stepcast
