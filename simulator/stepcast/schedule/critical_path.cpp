// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/critical_path.hpp"

#include <algorithm>
#include <array>

#include "stepcast/schedule/host_launches.hpp"
#include "stepcast/schedule/step_timer.hpp"

namespace stepcast {
namespace {

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

class PathWalk : public StepListener {
 public:
  explicit PathWalk(std::int64_t ranks) : tasks_(static_cast<std::size_t>(ranks)) {}

  void task(const TimedTask& task) override { tasks_[task.place.rank].push_back(task); }
  void rank_end(const RankEnd& end) override {
    last_ = end.rank == 0 || end.end() > last_.end() ? end : last_;
  }

  // `host`: what its host does once a step.
  std::vector<PathSegment> path(Seconds host) {
    add(last_.rank, PathKind::kHost, host);
    add(last_.rank, PathKind::kOptimizer, last_.updates.total());
    add(last_.rank, PathKind::kReduction, last_.reductions);
    walk_back({last_.rank, tasks_[last_.rank].size() - 1});
    std::reverse(path_.begin(), path_.end());
    return std::move(path_);
  }

 private:
  void walk_back(TaskPlace at) {
    while (true) {
      const TimedTask& task = tasks_[at.rank][at.position];
      add(at.rank, kind_of(task.span.task.kind), task.span.end - task.span.start);
      switch (task.waited_for) {
        case WaitedFor::kRank:
          if (at.position == 0) {
            return;
          }
          --at.position;
          break;
        case WaitedFor::kInput:
          add(at.rank, PathKind::kTransfer,
              task.span.start - tasks_[task.producer.rank][task.producer.position].span.end);
          at = task.producer;
          break;
        case WaitedFor::kParameters:
          add(at.rank, PathKind::kParameters, task.span.start);
          return;
      }
    }
  }

  // Puts a stretch of time in front of the path, which is found from its end.
  void add(std::size_t own, PathKind kind, Seconds time) {
    if (time <= Seconds{}) {
      return;
    }
    const auto rank = static_cast<std::int64_t>(own);
    if (!path_.empty() && path_.back().rank == rank && path_.back().kind == kind) {
      ++path_.back().count;
      path_.back().time += time;
      return;
    }
    path_.push_back({rank, kind, 1, time});
  }

  std::vector<std::vector<TimedTask>> tasks_;  // of each rank
  RankEnd last_;                               // of the ranks, the one that ends last
  std::vector<PathSegment> path_;              // the last first
};

}  // namespace

std::vector<PathSegment> critical_path(const StepContext& context) {
  PathWalk walk(context.expansion.plan.pp);
  StepTimer(context).at(context.clock, &walk);
  return walk.path(host_waits(context));
}

}  // namespace stepcast
