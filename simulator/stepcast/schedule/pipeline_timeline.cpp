// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/pipeline_timeline.hpp"

#include <optional>

#include "stepcast/base/error.hpp"

namespace stepcast {
namespace {

class PipelineSimulation {
 public:
  PipelineSimulation(Schedule schedule, const PipelineShape& shape,
                     const std::vector<StageDuration>& stages, Seconds transfer)
      : shape_(shape), stages_(stages), transfer_(transfer) {
    const auto tasks = stages.size() * static_cast<std::size_t>(shape.micro_batches);
    forward_end_.assign(tasks, kNotDone);
    backward_end_.assign(tasks, kNotDone);
    for (std::int64_t rank = 0; rank < shape.ranks; ++rank) {
      orders_.push_back(pipeline_order(schedule, shape, rank));
    }
    timelines_.resize(orders_.size());
  }

  std::vector<RankTimeline> run() {
    bool progress = true;
    while (progress) {
      progress = false;
      for (std::size_t rank = 0; rank < orders_.size(); ++rank) {
        progress = advance(rank) || progress;
      }
    }
    for (std::size_t rank = 0; rank < orders_.size(); ++rank) {
      STEPCAST_CHECK(timelines_[rank].spans.size() == orders_[rank].size(),
                     "the pipeline schedule waits for itself on rank " + std::to_string(rank));
    }
    return std::move(timelines_);
  }

 private:
  static constexpr Seconds kNotDone{-1.0};

  // What a task waits for: when its producer ended and when the data is there.
  struct Input {
    Seconds produced;
    Seconds arrived;
  };

  Seconds& end_of(std::vector<Seconds>& ends, std::size_t stage, std::int32_t micro_batch) const {
    return ends[stage * static_cast<std::size_t>(shape_.micro_batches) +
                static_cast<std::size_t>(micro_batch)];
  }

  // Runs the tasks of `rank` until one has to wait for another rank.
  bool advance(std::size_t rank) {
    RankTimeline& timeline = timelines_[rank];
    bool progress = false;
    while (timeline.spans.size() < orders_[rank].size()) {
      const PipelineTask task = orders_[rank][timeline.spans.size()];
      const std::optional<Input> input = input_of(rank, task);
      if (!input) {
        break;
      }
      run_task(rank, task, *input);
      progress = true;
    }
    return progress;
  }

  std::optional<Input> input_of(std::size_t rank, const PipelineTask& task) {
    const std::size_t stage = stage_of(rank, task);
    Seconds produced;
    bool crosses = true;
    if (task.kind == TaskKind::kForward) {
      if (stage == 0) {
        return Input{};
      }
      produced = end_of(forward_end_, stage - 1, task.micro_batch);
    } else if (stage + 1 == stages_.size()) {
      produced = end_of(forward_end_, stage, task.micro_batch);
      crosses = false;
    } else {
      produced = end_of(backward_end_, stage + 1, task.micro_batch);
    }
    if (produced == kNotDone) {
      return std::nullopt;
    }
    const bool other_rank = crosses && orders_.size() > 1;
    return Input{produced, other_rank ? produced + transfer_ : produced};
  }

  void run_task(std::size_t rank, const PipelineTask& task, const Input& input) {
    RankTimeline& timeline = timelines_[rank];
    const Seconds free = timeline.end;
    const Seconds start = max(free, input.arrived);
    const Seconds on_its_way = start > free ? start - max(free, input.produced) : Seconds{};
    timeline.transfer += on_its_way;
    timeline.bubble += start - free - on_its_way;
    const std::size_t stage = stage_of(rank, task);
    const bool forward = task.kind == TaskKind::kForward;
    const Seconds end = start + duration_of(stage, task);
    end_of(forward ? forward_end_ : backward_end_, stage, task.micro_batch) = end;
    timeline.spans.push_back({task, start, end});
    timeline.end = end;
  }

  [[nodiscard]] Seconds duration_of(std::size_t stage, const PipelineTask& task) const {
    const StageDuration& times = stages_[stage];
    if (task.kind == TaskKind::kForward) {
      const bool first = task.micro_batch == 0 && times.first_forward >= Seconds{};
      return first ? times.first_forward : times.forward;
    }
    const bool last =
        task.micro_batch + 1 == shape_.micro_batches && times.last_backward >= Seconds{};
    return last ? times.last_backward : times.backward;
  }

  [[nodiscard]] std::size_t stage_of(std::size_t rank, const PipelineTask& task) const {
    return static_cast<std::size_t>(task.chunk) * orders_.size() + rank;
  }

  PipelineShape shape_;
  const std::vector<StageDuration>& stages_;
  Seconds transfer_;
  std::vector<Seconds> forward_end_;  // stage-major
  std::vector<Seconds> backward_end_;
  std::vector<std::vector<PipelineTask>> orders_;
  std::vector<RankTimeline> timelines_;
};

}  // namespace

std::vector<RankTimeline> pipeline_timeline(Schedule schedule, const PipelineShape& shape,
                                            const std::vector<StageDuration>& stages,
                                            Seconds transfer) {
  STEPCAST_CHECK(static_cast<std::int64_t>(stages.size()) == shape.ranks * shape.chunks,
                 "one duration a stage is needed");
  return PipelineSimulation(schedule, shape, stages, transfer).run();
}

}  // namespace stepcast
