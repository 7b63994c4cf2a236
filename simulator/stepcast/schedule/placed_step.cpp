// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/placed_step.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "stepcast/schedule/step_timer.hpp"

namespace stepcast {
namespace {

// Which of the passes of a chunk one is.
enum class Turn { kFirst, kBetween, kLast };

PassPart part_of(TaskKind kind) {
  switch (kind) {
    case TaskKind::kForward:
      return PassPart::kForward;
    case TaskKind::kBackward:
      return PassPart::kBackward;
    case TaskKind::kInputGradient:
      return PassPart::kInputGradient;
    case TaskKind::kWeightGradient:
      return PassPart::kWeightGradient;
    case TaskKind::kOverlapped:
      break;
  }
  return PassPart::kForwardAndBackward;
}

class StepPlacer {
 public:
  StepPlacer(const StepContext& context, std::int64_t rank)
      : context_(context),
        plan_(context.expansion.plan),
        rank_(static_cast<std::size_t>(rank)),
        recorder_(context),
        schedule_(StepTimer(context).schedule(context.clock)),
        own_(stages_of_rank(plan_, rank)),
        begun_(own_.size()),
        backwards_left_(own_.size()),
        last_(own_.size()) {
    for (const RankStage& stage : own_) {
      backwards_left_[static_cast<std::size_t>(stage.chunk)] = stage.micro_batches;
    }
  }

  PlacedStep place() {
    place_parameters();
    for (const TaskSpan& span : timeline().spans) {
      place_task(span);
    }
    delay_what_is_left();
    place_optimizer();
    result_.transfers = placed_transfers(plan_, schedule_, rank_);
    result_.ops = recorder_.ops();
    result_.places = recorder_.places();
    result_.step = longest();
    std::stable_sort(result_.passes.begin(), result_.passes.end(),
                     [](const PlacedPass& a, const PlacedPass& b) { return a.start < b.start; });
    return std::move(result_);
  }

 private:
  [[nodiscard]] const RankTimeline& timeline() const { return schedule_.ranks[rank_]; }
  [[nodiscard]] std::size_t stage_of(std::int32_t chunk) const {
    return own_[static_cast<std::size_t>(chunk)].stage;
  }
  [[nodiscard]] bool one_micro_batch() const { return plan_.micro_batches == 1; }

  std::size_t add_program(const RecordedPass& pass) {
    result_.programs.push_back(pass.spans);
    return result_.programs.size() - 1;
  }

  void place_parameters() {
    Seconds before;
    for (const RankStage& stage : own_) {
      const RecordedPass pass = recorder_.parameters(stage.stage);
      if (!pass.spans.empty()) {
        const Seconds end = before + pass.time.duration();
        PipelineTask task;
        task.chunk = static_cast<std::int32_t>(stage.chunk);
        result_.passes.push_back({PassPart::kParameters, task, add_program(pass), before, end, {}});
      }
      before += recorder_.gather_time(stage.stage).all;
    }
  }

  void place_task(const TaskSpan& span) {
    const PipelineTask& task = span.task;
    Turn forward = Turn::kBetween;
    Turn backward = Turn::kBetween;
    if (task.runs_forward() && !begun_[static_cast<std::size_t>(task.chunk)]) {
      begun_[static_cast<std::size_t>(task.chunk)] = true;
      forward = Turn::kFirst;
    }
    const std::int32_t returned = activation_change(task).returned;
    if (returned != kNoChunk && --backwards_left_[static_cast<std::size_t>(returned)] == 0) {
      backward = Turn::kLast;
      last_[static_cast<std::size_t>(returned)] = {result_.passes.size(), Seconds{}};
    }
    const std::size_t program = program_of(task, forward, backward);
    if (backward == Turn::kLast) {
      last_[static_cast<std::size_t>(returned)].backlog = backlogs_[program];
    }
    result_.passes.push_back({part_of(task.kind), task, program, span.start, span.end, {}});
  }

  // The spans of a task, recorded when they are first needed.
  std::size_t program_of(const PipelineTask& task, Turn forward, Turn backward) {
    const bool pair = task.kind == TaskKind::kOverlapped;
    const std::size_t stage = stage_of(task.chunk);
    const std::size_t back = pair ? stage_of(task.backward_chunk) : stage;
    const auto key = std::tuple(task.kind, stage, back, forward, backward);
    const auto known = programs_.find(key);
    if (known != programs_.end()) {
      return known->second;
    }
    const RecordedPass pass = recorded(task.kind, {stage, back}, forward, backward);
    const std::size_t program = add_program(pass);
    programs_.emplace(key, program);
    backlogs_.emplace(program, pass.time.backlog);
    return program;
  }

  struct Stages {
    std::size_t forward = 0;
    std::size_t backward = 0;
  };

  [[nodiscard]] RecordedPass recorded(TaskKind kind, const Stages& stages, Turn forward,
                                      Turn backward) const {
    switch (kind) {
      case TaskKind::kForward:
        return forward_of(stages.forward, forward);
      case TaskKind::kBackward:
        return backward_of(stages.backward, backward);
      case TaskKind::kInputGradient:
        return recorder_.split(backward_of(stages.backward, backward)).input;
      case TaskKind::kWeightGradient:
        return recorder_.split(backward_of(stages.backward, backward)).weight;
      case TaskKind::kOverlapped:
        break;
    }
    return pair_of(stages, forward, backward);
  }

  [[nodiscard]] RecordedPass forward_of(std::size_t stage, Turn turn) const {
    const bool first = turn == Turn::kFirst || one_micro_batch();
    return recorder_.forward(stage,
                             first ? PassPlace{.first = true, .host_lead = {}} : PassPlace{});
  }

  [[nodiscard]] RecordedPass backward_of(std::size_t stage, Turn turn) const {
    PassPlace place{.last = turn == Turn::kLast || one_micro_batch()};
    if (one_micro_batch()) {
      place.host_lead = forward_of(stage, Turn::kFirst).time.host_lead;
    }
    return recorder_.backward(stage, place);
  }

  [[nodiscard]] RecordedPass pair_of(const Stages& stages, Turn forward, Turn backward) const {
    RecordedPass pair =
        recorder_.pair(forward_of(stages.forward, Turn::kBetween), stages.forward,
                       backward_of(stages.backward, Turn::kBetween), stages.backward);
    if (forward == Turn::kFirst) {
      add_data_traffic(forward_of(stages.forward, forward), Seconds{}, pair);
    }
    if (backward == Turn::kLast) {
      const RecordedPass last = backward_of(stages.backward, backward);
      add_data_traffic(last, max(Seconds{}, pair.time.duration() - last.time.duration()), pair);
      pair.time.backlog = last.time.backlog;
    }
    return pair;
  }

  static void add_data_traffic(const RecordedPass& from, Seconds later, RecordedPass& pair) {
    for (StreamSpan span : from.spans) {
      if (span.axis == Axis::kData) {
        span.start += later;
        span.end += later;
        pair.spans.push_back(span);
      }
    }
  }

  // Reductions after the last backward of each chunk, as StepTimer adds them up.
  void delay_what_is_left() {
    const bool overlaps = context_.expansion.software.overlap_grad_reduce;
    std::vector<LastBackward> in_order = last_;
    const auto from = [&](const LastBackward& last) {
      return overlaps ? result_.passes[last.pass].end : timeline().end;
    };
    std::sort(in_order.begin(), in_order.end(),
              [&](const LastBackward& a, const LastBackward& b) { return from(a) < from(b); });
    Seconds free;
    for (const LastBackward& last : in_order) {
      PlacedPass& pass = result_.passes[last.pass];
      pass.left_later = max(free, from(last)) - pass.end;
      free = max(free, from(last)) + last.backlog;
    }
  }

  void place_optimizer() {
    const Seconds start = timeline().end + schedule_.reductions[rank_];
    const RecordedPass pass = recorder_.optimizer(static_cast<std::int64_t>(rank_));
    result_.passes.push_back({PassPart::kOptimizer,
                              {},
                              add_program(pass),
                              start,
                              start + schedule_.updates[rank_].total(),
                              {}});
  }

  [[nodiscard]] Seconds longest() const {
    Seconds step;
    for (std::size_t rank = 0; rank < schedule_.ranks.size(); ++rank) {
      step = max(step, schedule_.ranks[rank].end + schedule_.reductions[rank] +
                           schedule_.updates[rank].total());
    }
    return step + context_.expansion.software.host.step;
  }

  // The last backward of a chunk.
  struct LastBackward {
    std::size_t pass = 0;  // place in `passes`
    Seconds backlog;
  };
  using ProgramKey = std::tuple<TaskKind, std::size_t, std::size_t, Turn, Turn>;

  const StepContext& context_;
  const ParallelPlan& plan_;
  std::size_t rank_;
  PassRecorder recorder_;
  StepSchedule schedule_;
  std::vector<RankStage> own_;
  std::vector<bool> begun_;                   // of each chunk
  std::vector<std::int64_t> backwards_left_;  // likewise
  std::vector<LastBackward> last_;            // likewise
  std::map<ProgramKey, std::size_t> programs_;
  std::map<std::size_t, Seconds> backlogs_;  // of the programs
  PlacedStep result_;
};

}  // namespace

std::string_view name(PassPart part) {
  constexpr std::array<std::string_view, 7> kNames = {
      "parameters",           "forward",  "backward", "input gradient", "weight gradient",
      "forward and backward", "optimizer"};
  return kNames[static_cast<std::size_t>(part)];
}

PlacedStep placed_step(const StepContext& context, std::int64_t rank) {
  return StepPlacer(context, rank).place();
}

}  // namespace stepcast
