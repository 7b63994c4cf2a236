// SPDX-License-Identifier: Apache-2.0
// The passes of a pipeline stage span by span, from the runs that time them (stage_time.hpp).
#pragma once

#include <optional>
#include <vector>

#include "stepcast/schedule/stage_time.hpp"
#include "stepcast/schedule/step_listener.hpp"

namespace stepcast {

// Spans of one stream, one behind the other in the time until `limit`. How long all of them take is
// known before the first is placed, so that each begins as early as those behind it need; all are
// shorter where there is no time for them.
struct StreamQueue {
  Seconds limit;
  Seconds left;          // of all spans that are not placed yet; before close(), added up
  double shorter = 1.0;  // what is left of each
  Seconds free;

  void close();
  // Where the next span runs that would run at `span`: there, if that is free and not too late.
  SpanTime next(const SpanTime& span);
  // As much as rounding moves a time, of the limit.
  static constexpr double kRounding = 1e-12;
};

// Spans from the start of the pass, by their start. Communication may outlast `time`.
struct RecordedPass {
  std::vector<StreamSpan> spans;
  PassTime time;
};

// A backward pass as the two tasks in which some schedules run it: the gradient of the input, with
// all that it waits for, and that of the weights, with its reductions. Each keeps the order of its
// spans and closes up, computation to the end of its task. No kernel is cut in two: where those of
// one task do not fit, they are shortened, and those of the other task are longer by as much.
// Reductions queue as far as they end when the step's time has them end.
struct SplitBackward {
  RecordedPass input;
  RecordedPass weight;
};

// A pass that is a chunk's first or last one, and those between, which run without the operators
// that it has besides, and without what these slow down.
struct EndPass {
  RecordedPass own;
  RecordedPass between;
};

// One after the other.
RecordedPass sequence(RecordedPass first, const RecordedPass& second);

class PassSpans {
 public:
  // At `context.clock`, which must outlive this. Prices the step's operators as its timer does, and
  // notes which task is of which.
  explicit PassSpans(const StepContext& context);

  [[nodiscard]] const StepOps& operators() const { return noted_; }
  [[nodiscard]] GatherTime gather_time(std::size_t stage) const;

  // The gathers that a stage's first forward waits for.
  [[nodiscard]] RecordedPass parameters(std::size_t stage) const;
  [[nodiscard]] RecordedPass forward(std::size_t stage, const PassPlace& place) const;
  [[nodiscard]] RecordedPass backward(std::size_t stage, const PassPlace& place) const;
  // The gradient of the input takes as long as that of the passes between.
  [[nodiscard]] SplitBackward split(const EndPass& pass) const;
  // A forward of one stage beside a backward of another one; nothing where they run one after the
  // other, as that is no slower, or as the plan's passes are timed so (pairs_passes).
  [[nodiscard]] std::optional<RecordedPass> pair(const EndPass& forward, std::size_t forward_stage,
                                                 const EndPass& backward,
                                                 std::size_t backward_stage) const;
  [[nodiscard]] RecordedPass optimizer(std::size_t rank) const;

 private:
  [[nodiscard]] StageProgram program(std::size_t stage) const {
    return {tasks_, operators_.stages[stage], operators_.rule, context_.expansion.software,
            traffic_[stage]};
  }
  void note_places();
  void note(const TaskList& tasks, const OpPlace& place);
  // Of the spans of a backward pass: whether each belongs to the task of the weights. The first
  // gradients of weights stay with that of the input as far as the others fill their task.
  [[nodiscard]] std::vector<bool> weight_part(const RecordedPass& backward, Seconds weight) const;

  const StepContext& context_;
  StepOperators operators_;
  StepOps noted_;
  StepTasks tasks_;
  std::vector<bool> weight_gradient_;  // of `noted_.ops`
  std::vector<HostTraffic> traffic_;   // of plan.stages
};

}  // namespace stepcast
