// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/critical_path.hpp"

#include <algorithm>
#include <array>

#include "stepcast/pipeline/pipeline_stages.hpp"
#include "stepcast/schedule/step_timer.hpp"

namespace stepcast {
namespace {

// A task by its rank and its place in the order of that rank; below 0: there is none.
struct Place {
  std::int64_t rank = -1;
  std::size_t index = 0;
};

PathKind kind_of(TaskKind kind) {
  switch (kind) {
    case TaskKind::kForward:
      return PathKind::kForward;
    case TaskKind::kBackward:
    case TaskKind::kInputGradient:
      return PathKind::kBackward;
    case TaskKind::kWeightGradient:
      return PathKind::kWeightGradient;
    case TaskKind::kOverlapped:
      break;
  }
  return PathKind::kForwardAndBackward;
}

// The chunk whose backward pass a task runs, as far as stages before wait for it.
struct BackwardPart {
  std::int32_t chunk = -1;  // below 0: none
  std::int32_t micro_batch = 0;
};
BackwardPart backward_part(const PipelineTask& task) {
  switch (task.kind) {
    case TaskKind::kBackward:
    case TaskKind::kInputGradient:
      return {task.chunk, task.micro_batch};
    case TaskKind::kOverlapped:
      return {task.backward_chunk, task.backward_micro_batch};
    case TaskKind::kForward:
    case TaskKind::kWeightGradient:
      break;
  }
  return {};
}

class PathWalk {
 public:
  explicit PathWalk(const StepContext& context)
      : context_(context),
        plan_(context.expansion.plan),
        shape_(pipeline_shape(plan_)),
        schedule_(StepTimer(context).schedule(context.clock)),
        stages_(schedule_.ready.size()),
        forwards_(stages_ * static_cast<std::size_t>(shape_.micro_batches)),
        backwards_(forwards_.size()) {
    for (std::int64_t rank = 0; rank < plan_.pp; ++rank) {
      note_outputs(rank);
    }
  }

  std::vector<PathSegment> path() {
    const std::int64_t last = last_rank();
    add(last, PathKind::kHost, context_.expansion.software.host.step);
    add(last, PathKind::kOptimizer, optimizer_time(last));
    add(last, PathKind::kReduction, reduction_tail(last));
    walk_back({last, spans(last).size() - 1});
    std::reverse(path_.begin(), path_.end());
    return std::move(path_);
  }

 private:
  [[nodiscard]] const std::vector<TaskSpan>& spans(std::int64_t rank) const {
    return schedule_.ranks[static_cast<std::size_t>(rank)].spans;
  }
  [[nodiscard]] std::size_t stage_at(std::int64_t rank, std::int32_t chunk) const {
    return static_cast<std::size_t>(stage_on(plan_.schedule, shape_, rank, chunk));
  }
  [[nodiscard]] std::size_t slot_of(std::size_t stage, std::int32_t micro_batch) const {
    return stage * static_cast<std::size_t>(shape_.micro_batches) +
           static_cast<std::size_t>(micro_batch);
  }

  void note_outputs(std::int64_t rank) {
    for (std::size_t i = 0; i < spans(rank).size(); ++i) {
      const PipelineTask& task = spans(rank)[i].task;
      if (task.runs_forward()) {
        forwards_[slot_of(stage_at(rank, task.chunk), task.micro_batch)] = {rank, i};
      }
      if (const BackwardPart back = backward_part(task); back.chunk >= 0) {
        backwards_[slot_of(stage_at(rank, back.chunk), back.micro_batch)] = {rank, i};
      }
    }
  }

  void walk_back(Place at) {
    while (true) {
      const TaskSpan& span = spans(at.rank)[at.index];
      add(at.rank, kind_of(span.task.kind), span.end - span.start);
      const Seconds free = at.index > 0 ? spans(at.rank)[at.index - 1].end : Seconds{};
      if (span.start <= free) {
        if (at.index == 0) {
          return;
        }
        --at.index;
        continue;
      }
      const Place producer = producer_of(at, span.task);
      if (producer.rank < 0 || waits_for_parameters(at, span)) {
        add(at.rank, PathKind::kParameters, span.start);
        return;
      }
      add(at.rank, PathKind::kTransfer, span.start - spans(producer.rank)[producer.index].end);
      at = producer;
    }
  }

  // The task of another rank that made the input which was ready last.
  [[nodiscard]] Place producer_of(const Place& at, const PipelineTask& task) const {
    Place latest;
    const auto consider = [&](const Place& made) {
      const bool other = made.rank >= 0 && made.rank != at.rank;
      if (other && (latest.rank < 0 || end_of(made) > end_of(latest))) {
        latest = made;
      }
    };
    if (const std::size_t stage = stage_at(at.rank, task.chunk); task.runs_forward() && stage > 0) {
      consider(forwards_[slot_of(stage - 1, task.micro_batch)]);
    }
    if (const BackwardPart back = backward_part(task); back.chunk >= 0) {
      const std::size_t stage = stage_at(at.rank, back.chunk);
      consider(stage + 1 == stages_ ? forwards_[slot_of(stage, back.micro_batch)]
                                    : backwards_[slot_of(stage + 1, back.micro_batch)]);
    }
    return latest;
  }
  [[nodiscard]] Seconds end_of(const Place& place) const {
    return spans(place.rank)[place.index].end;
  }

  // Whether a task is the first of its chunk, and began when the parameters were there.
  [[nodiscard]] bool waits_for_parameters(const Place& at, const TaskSpan& span) const {
    const auto before = spans(at.rank).begin();
    const bool first =
        span.task.runs_forward() &&
        std::none_of(before, before + static_cast<std::ptrdiff_t>(at.index),
                     [&span](const TaskSpan& earlier) {
                       return earlier.task.runs_forward() && earlier.task.chunk == span.task.chunk;
                     });
    return first && span.start <= schedule_.ready[stage_at(at.rank, span.task.chunk)];
  }

  [[nodiscard]] Seconds optimizer_time(std::int64_t rank) const {
    return schedule_.updates[static_cast<std::size_t>(rank)].total();
  }
  [[nodiscard]] Seconds reduction_tail(std::int64_t rank) const {
    return schedule_.reductions[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] Seconds total(std::int64_t rank) const {
    return schedule_.ranks[static_cast<std::size_t>(rank)].end + reduction_tail(rank) +
           optimizer_time(rank);
  }
  [[nodiscard]] std::int64_t last_rank() const {
    std::int64_t last = 0;
    for (std::int64_t rank = 1; rank < plan_.pp; ++rank) {
      last = total(rank) > total(last) ? rank : last;
    }
    return last;
  }

  // Puts a stretch of time in front of the path, which is found from its end.
  void add(std::int64_t rank, PathKind kind, Seconds time) {
    if (time <= Seconds{}) {
      return;
    }
    if (!path_.empty() && path_.back().rank == rank && path_.back().kind == kind) {
      ++path_.back().count;
      path_.back().time += time;
      return;
    }
    path_.push_back({rank, kind, 1, time});
  }

  const StepContext& context_;
  const ParallelPlan& plan_;
  PipelineShape shape_;
  StepSchedule schedule_;
  std::size_t stages_;
  std::vector<Place> forwards_;  // who made the output of a stage and micro-batch, stage-major
  std::vector<Place> backwards_;
  std::vector<PathSegment> path_;  // the last first
};

}  // namespace

std::string_view name(PathKind kind) {
  constexpr std::array<std::string_view, 9> kNames = {"forward",
                                                      "backward",
                                                      "weight gradient",
                                                      "forward and backward",
                                                      "transfer",
                                                      "wait for parameters",
                                                      "reduction",
                                                      "optimizer",
                                                      "host"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<PathSegment> critical_path(const StepContext& context) {
  return PathWalk(context).path();
}

}  // namespace stepcast
