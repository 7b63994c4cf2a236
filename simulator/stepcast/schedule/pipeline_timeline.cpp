// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/pipeline_timeline.hpp"

#include "stepcast/base/error.hpp"

namespace stepcast {
namespace {

// What a task hands to one other task, perhaps of another rank.
struct Output {
  Seconds end{-1.0};          // before it is done: negative
  std::int32_t producer = 0;  // rank
  std::int32_t waiting = -1;  // a rank that waits for it
  [[nodiscard]] bool done() const { return end >= Seconds{}; }
};

// When the last input was produced and when it was there.
struct Input {
  Seconds produced;
  Seconds arrived;
};

class PipelineSimulation {
 public:
  PipelineSimulation(Schedule schedule, const PipelineShape& shape,
                     const std::vector<RankOrder>& orders, const std::vector<StageDuration>& stages,
                     Seconds transfer, const PairSavings& savings)
      : chunks_(static_cast<std::size_t>(chunks_held(schedule, shape))),
        micro_batches_(static_cast<std::size_t>(shape.micro_batches)),
        stages_(stages),
        transfer_(transfer),
        savings_(savings),
        orders_(orders),
        timelines_(orders.size()),
        done_(orders.size()) {
    forwards_.resize(stages.size() * micro_batches_);
    backwards_.resize(stages.size() * micro_batches_);
    stage_of_.reserve(orders.size() * chunks_);
    runnable_.reserve(orders.size());
    passes_.reserve(orders.size() * chunks_);
    for (std::int64_t rank = 0; rank < shape.ranks; ++rank) {
      for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
        stage_of_.push_back(static_cast<std::size_t>(
            stage_on(schedule, shape, rank, static_cast<std::int64_t>(chunk))));
        const std::int64_t through =
            micro_batches_through(schedule, shape, static_cast<std::int64_t>(chunk));
        passes_.push_back({through, false});
      }
      timelines_[static_cast<std::size_t>(rank)].chunk_end.resize(chunks_);
      timelines_[static_cast<std::size_t>(rank)].spans.reserve(
          orders[static_cast<std::size_t>(rank)].size());
      runnable_.push_back(static_cast<std::int32_t>(shape.ranks - 1 - rank));
    }
  }

  std::vector<RankTimeline> run() {
    while (!runnable_.empty()) {
      const std::int32_t rank = runnable_.back();
      runnable_.pop_back();
      advance(rank);
    }
    for (std::size_t rank = 0; rank < orders_.size(); ++rank) {
      STEPCAST_CHECK(done_[rank] == orders_[rank].size(),
                     "the pipeline schedule waits for itself on rank " + std::to_string(rank));
    }
    return std::move(timelines_);
  }

 private:
  [[nodiscard]] std::size_t stage_at(std::int32_t rank, std::int32_t chunk) const {
    return stage_of_[static_cast<std::size_t>(rank) * chunks_ + static_cast<std::size_t>(chunk)];
  }
  [[nodiscard]] std::size_t slot(std::size_t stage, std::int32_t micro_batch) const {
    return stage * micro_batches_ + static_cast<std::size_t>(micro_batch);
  }

  // Runs the tasks of `rank` until one has to wait for another rank.
  void advance(std::int32_t rank) {
    RankTimeline& timeline = timelines_[static_cast<std::size_t>(rank)];
    const RankOrder& order = orders_[static_cast<std::size_t>(rank)];
    std::size_t& done = done_[static_cast<std::size_t>(rank)];
    for (; done < order.size(); ++done) {
      const PipelineTask& task = order[done];
      Input input;
      if (!inputs_are_done(rank, task, input)) {
        return;
      }
      run_task(rank, task, input, timeline);
    }
  }

  // The inputs of `task`; false, and the rank is noted as waiting, if one is not done.
  bool inputs_are_done(std::int32_t rank, const PipelineTask& task, Input& input) {
    switch (task.kind) {
      case TaskKind::kForward:
        return forward_input(rank, task.chunk, task.micro_batch, input);
      case TaskKind::kBackward:
      case TaskKind::kInputGradient:
        return backward_input(rank, task.chunk, task.micro_batch, input);
      case TaskKind::kOverlapped:
        return forward_input(rank, task.chunk, task.micro_batch, input) &&
               backward_input(rank, task.backward_chunk, task.backward_micro_batch, input);
      case TaskKind::kWeightGradient:
        break;
    }
    // What it needs was made on the same rank before.
    return true;
  }

  bool forward_input(std::int32_t rank, std::int32_t chunk, std::int32_t micro_batch,
                     Input& input) {
    const std::size_t stage = stage_at(rank, chunk);
    return stage == 0 || take(forwards_[slot(stage - 1, micro_batch)], rank, input);
  }
  bool backward_input(std::int32_t rank, std::int32_t chunk, std::int32_t micro_batch,
                      Input& input) {
    const std::size_t stage = stage_at(rank, chunk);
    return take(stage + 1 == stages_.size() ? forwards_[slot(stage, micro_batch)]
                                            : backwards_[slot(stage + 1, micro_batch)],
                rank, input);
  }

  bool take(Output& output, std::int32_t rank, Input& input) const {
    if (!output.done()) {
      output.waiting = rank;
      return false;
    }
    const Seconds arrived = output.producer == rank ? output.end : output.end + transfer_;
    if (arrived >= input.arrived) {
      input = {output.end, arrived};
    }
    return true;
  }

  void run_task(std::int32_t rank, const PipelineTask& task, const Input& input,
                RankTimeline& timeline) {
    const Seconds free = timeline.end;
    const std::size_t stage = stage_at(rank, task.chunk);
    const bool pair = task.kind == TaskKind::kOverlapped;
    const std::size_t back = pair ? stage_at(rank, task.backward_chunk) : stage;
    const Ends ends = ends_of(rank, task);
    const Seconds arrived = max(free, input.arrived);
    const Seconds start = ends.first ? max(arrived, stages_[stage].ready) : arrived;
    const Seconds on_its_way = arrived > free ? arrived - max(free, input.produced) : Seconds{};
    timeline.parameters += start - arrived;
    timeline.transfer += on_its_way;
    timeline.bubble += arrived - free - on_its_way;
    Seconds end = start + duration(task, stage, back);
    end += ends.first ? stages_[stage].first_extra : Seconds{};
    end += ends.last ? stages_[back].last_extra : Seconds{};
    timeline.chunk_end[static_cast<std::size_t>(task.chunk)] = end;
    if (pair) {
      timeline.chunk_end[static_cast<std::size_t>(task.backward_chunk)] = end;
    }
    timeline.spans.push_back({task, start, end});
    timeline.end = end;
    if (task.kind == TaskKind::kForward || pair) {
      hand_over(forwards_[slot(stage, task.micro_batch)], rank, end);
    }
    if (pair) {
      hand_over(backwards_[slot(back, task.backward_micro_batch)], rank, end);
    } else if (task.kind == TaskKind::kBackward || task.kind == TaskKind::kInputGradient) {
      hand_over(backwards_[slot(stage, task.micro_batch)], rank, end);
    }
  }

  [[nodiscard]] Seconds duration(const PipelineTask& task, std::size_t stage,
                                 std::size_t back) const {
    if (task.kind == TaskKind::kOverlapped && !savings_.empty()) {
      return stages_[stage].forward + stages_[back].backward -
             savings_[stage * stages_.size() + back];
    }
    return task_duration(task, stages_[stage], stages_[back]);
  }

  // Whether a task is the first forward of its chunk on the rank, or its last backward.
  struct Ends {
    bool first = false;
    bool last = false;
  };
  Ends ends_of(std::int32_t rank, const PipelineTask& task) {
    const std::size_t own = static_cast<std::size_t>(rank) * chunks_;
    const bool pair = task.kind == TaskKind::kOverlapped;
    Ends ends;
    if (task.kind == TaskKind::kForward || pair) {
      Passes& left = passes_[own + static_cast<std::size_t>(task.chunk)];
      ends.first = !left.begun;
      left.begun = true;
    }
    if (task.kind == TaskKind::kBackward || task.kind == TaskKind::kWeightGradient || pair) {
      const std::int32_t chunk = pair ? task.backward_chunk : task.chunk;
      ends.last = --passes_[own + static_cast<std::size_t>(chunk)].backwards == 0;
    }
    return ends;
  }

  void hand_over(Output& output, std::int32_t rank, Seconds end) {
    output.end = end;
    output.producer = rank;
    if (output.waiting >= 0) {
      runnable_.push_back(output.waiting);
    }
  }

  std::size_t chunks_;
  std::size_t micro_batches_;
  const std::vector<StageDuration>& stages_;
  Seconds transfer_;
  const PairSavings& savings_;
  const std::vector<RankOrder>& orders_;
  std::vector<RankTimeline> timelines_;
  std::vector<std::size_t> done_;      // tasks of each rank
  std::vector<std::size_t> stage_of_;  // rank-major, by chunk
  struct Passes {
    std::int64_t backwards = 0;  // still to come
    bool begun = false;
  };
  std::vector<Passes> passes_;    // rank-major, by chunk
  std::vector<Output> forwards_;  // stage-major
  std::vector<Output> backwards_;
  std::vector<std::int32_t> runnable_;  // ranks that need not wait, as far as is known
};

}  // namespace

Seconds task_duration(const PipelineTask& task, const StageDuration& stage,
                      const StageDuration& backward_stage) {
  switch (task.kind) {
    case TaskKind::kForward:
      return stage.forward;
    case TaskKind::kBackward:
      return stage.backward;
    case TaskKind::kInputGradient:
      return stage.backward - stage.weight;
    case TaskKind::kWeightGradient:
      return stage.weight;
    case TaskKind::kOverlapped:
      break;
  }
  return stage.forward + backward_stage.backward - min(stage.saved(), backward_stage.saved());
}

std::vector<RankTimeline> pipeline_timeline(Schedule schedule, const PipelineShape& shape,
                                            const std::vector<RankOrder>& orders,
                                            const std::vector<StageDuration>& stages,
                                            Seconds transfer, const PairSavings& savings) {
  STEPCAST_CHECK(static_cast<std::int64_t>(stages.size()) == stage_count(shape),
                 "one duration a stage is needed");
  return PipelineSimulation(schedule, shape, orders, stages, transfer, savings).run();
}

std::vector<RankTimeline> pipeline_timeline(Schedule schedule, const PipelineShape& shape,
                                            const std::vector<StageDuration>& stages,
                                            Seconds transfer) {
  const std::vector<RankOrder> orders = pipeline_orders(schedule, shape);
  std::vector<RankTimeline> ranks = pipeline_timeline(schedule, shape, orders, stages, transfer);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    ranks[rank].in_flight = peak_in_flight(orders[rank], shape);
  }
  return ranks;
}

}  // namespace stepcast
