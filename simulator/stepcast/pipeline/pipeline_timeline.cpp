// SPDX-License-Identifier: Apache-2.0
#include "stepcast/pipeline/pipeline_timeline.hpp"

#include "stepcast/base/error.hpp"
#include "stepcast/pipeline/pipeline_sequence.hpp"

namespace stepcast {
namespace {

// What a task hands to another one, perhaps of another rank.
struct Output {
  Seconds end;
  std::int32_t producer = 0;  // rank
};

// When the last input was produced and when it was there.
struct Input {
  Seconds produced;
  Seconds arrived;
};

// Runs the tasks of all ranks, each behind what it waits for.
class TimelineRun {
 public:
  TimelineRun(Schedule schedule, const PipelineShape& shape, const std::vector<RankOrder>& orders,
              const std::vector<StageDuration>& stages, Seconds transfer,
              const PairSavings& savings)
      : chunks_(static_cast<std::size_t>(chunks_per_rank(schedule, shape))),
        stages_(stages),
        transfer_(transfer),
        savings_(savings),
        orders_(orders),
        numbers_{stage_count(shape)},
        timelines_(orders.size()),
        outputs_(2 * stages.size() * static_cast<std::size_t>(shape.micro_batches)) {
    for (std::int64_t rank = 0; rank < shape.ranks; ++rank) {
      for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
        const auto number = static_cast<std::int64_t>(chunk);
        passes_.push_back({static_cast<std::size_t>(stage_on(schedule, shape, rank, number)),
                           micro_batches_through(schedule, shape, number)});
      }
      RankTimeline& timeline = timelines_[static_cast<std::size_t>(rank)];
      timeline.chunk_end.resize(chunks_);
      timeline.spans.reserve(orders[static_cast<std::size_t>(rank)].size());
    }
  }

  std::vector<RankTimeline> run(const PipelineSequence& sequence) {
    for (const SequencedTask& placed : sequence.tasks) {
      run_task(placed.rank, orders_[static_cast<std::size_t>(placed.rank)]
                                   [static_cast<std::size_t>(placed.position)]);
    }
    return std::move(timelines_);
  }

 private:
  // The passes of a chunk on its rank.
  struct Passes {
    std::size_t stage = 0;
    std::int64_t backwards = 0;  // still to come
    bool begun = false;
  };

  Passes& passes(std::int32_t rank, std::int32_t chunk) {
    return passes_[static_cast<std::size_t>(rank) * chunks_ + static_cast<std::size_t>(chunk)];
  }

  [[nodiscard]] Input last_input(std::int32_t rank, const TaskLinks& links) const {
    Input input;
    for (const std::int32_t awaited : links.inputs) {
      if (awaited < 0) {
        continue;
      }
      const Output& output = outputs_[static_cast<std::size_t>(awaited)];
      const Seconds arrived = output.producer == rank ? output.end : output.end + transfer_;
      if (arrived >= input.arrived) {
        input = {output.end, arrived};
      }
    }
    return input;
  }

  void run_task(std::int32_t rank, const PipelineTask& task) {
    const bool pair = task.kind == TaskKind::kOverlapped;
    Passes& own = passes(rank, task.chunk);
    Passes& back = pair ? passes(rank, task.backward_chunk) : own;
    const TaskLinks links = links_of(task, static_cast<std::int64_t>(own.stage),
                                     static_cast<std::int64_t>(back.stage), numbers_);
    RankTimeline& timeline = timelines_[static_cast<std::size_t>(rank)];
    const bool first = !own.begun && (task.kind == TaskKind::kForward || pair);
    const Seconds start = begin(timeline, last_input(rank, links), first, stages_[own.stage].ready);
    Seconds end = start + task_duration(task.kind, own.stage, back.stage, stages_, savings_);
    if (first) {
      own.begun = true;
      end += stages_[own.stage].first_extra;
    }
    if (activation_change(task).returned != kNoChunk && --back.backwards == 0) {
      end += stages_[back.stage].last_extra;
    }
    timeline.chunk_end[static_cast<std::size_t>(task.chunk)] = end;
    if (pair) {
      timeline.chunk_end[static_cast<std::size_t>(task.backward_chunk)] = end;
    }
    timeline.spans.push_back({task, start, end});
    timeline.end = end;
    for (const std::int32_t made : links.outputs) {
      if (made >= 0) {
        outputs_[static_cast<std::size_t>(made)] = {end, rank};
      }
    }
  }

  // When a task starts; notes what its rank waits for until then.
  static Seconds begin(RankTimeline& timeline, const Input& input, bool first, Seconds ready) {
    const Seconds free = timeline.end;
    const Seconds arrived = max(free, input.arrived);
    const Seconds start = first ? max(arrived, ready) : arrived;
    const Seconds on_its_way = arrived > free ? arrived - max(free, input.produced) : Seconds{};
    timeline.parameters += start - arrived;
    timeline.transfer += on_its_way;
    timeline.bubble += arrived - free - on_its_way;
    return start;
  }

  std::size_t chunks_;
  const std::vector<StageDuration>& stages_;
  Seconds transfer_;
  const PairSavings& savings_;
  const std::vector<RankOrder>& orders_;
  OutputNumbers numbers_;
  std::vector<RankTimeline> timelines_;
  std::vector<Passes> passes_;  // rank-major, by chunk
  std::vector<Output> outputs_;
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

Seconds task_duration(TaskKind kind, std::size_t stage, std::size_t back,
                      const std::vector<StageDuration>& stages, const PairSavings& savings) {
  if (kind == TaskKind::kOverlapped && !savings.empty()) {
    return stages[stage].forward + stages[back].backward - savings[stage * stages.size() + back];
  }
  return task_duration({kind}, stages[stage], stages[back]);
}

std::vector<RankTimeline> pipeline_timeline(Schedule schedule, const PipelineShape& shape,
                                            const std::vector<RankOrder>& orders,
                                            const std::vector<StageDuration>& stages,
                                            Seconds transfer, const PairSavings& savings) {
  STEPCAST_CHECK(static_cast<std::int64_t>(stages.size()) == stage_count(shape),
                 "one duration a stage is needed");
  return TimelineRun(schedule, shape, orders, stages, transfer, savings)
      .run(pipeline_sequence(schedule, shape, orders));
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
