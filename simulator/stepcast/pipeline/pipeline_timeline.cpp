// SPDX-License-Identifier: Apache-2.0
#include "stepcast/pipeline/pipeline_timeline.hpp"

#include <algorithm>

#include "stepcast/base/error.hpp"
#include "stepcast/pipeline/pipeline_sequence.hpp"
#include "stepcast/pipeline/transfer_streams.hpp"

namespace stepcast {
namespace {

// A point in time, and the task whose end it follows with nothing but transfers in between.
struct Moment {
  Seconds time;
  TaskPlace behind;
  bool operator<(const Moment& other) const { return time < other.time; }
};

// What a task hands to another one, perhaps of another rank.
struct Output {
  Seconds end;
  TaskPlace producer;
  Moment arrived;  // on the rank that reads it
};

// When the last input was there, and the last that another rank made; without one, time zero.
struct Input {
  Seconds arrived;
  Moment sent;
};

// Runs the tasks of all ranks, each behind what it waits for.
class TimelineRun {
 public:
  TimelineRun(Schedule schedule, const PipelineShape& shape, const std::vector<RankOrder>& orders,
              const std::vector<StageDuration>& stages, Seconds transfer,
              const PairSavings& savings, PipelineTransfers order, TaskListener* listener)
      : order_(order),
        chunks_(static_cast<std::size_t>(chunks_per_rank(schedule, shape))),
        stages_(stages),
        transfer_(transfer),
        savings_(savings),
        listener_(listener),
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
    streams_.reset(orders.size());
  }

  std::vector<RankTimeline> run(const PipelineSequence& sequence) {
    auto transfer = sequence.transfers.begin();
    for (std::size_t i = 0; i < sequence.tasks.size(); ++i) {
      const SequencedTask& placed = sequence.tasks[i];
      const TaskPlace place{static_cast<std::size_t>(placed.rank),
                            static_cast<std::size_t>(placed.position)};
      run_task(place, orders_[place.rank][place.position]);
      for (; transfer != sequence.transfers.end() && transfer->behind == i + 1; ++transfer) {
        carry(*transfer);
      }
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

  Passes& passes(std::size_t rank, std::int32_t chunk) {
    return passes_[rank * chunks_ + static_cast<std::size_t>(chunk)];
  }

  [[nodiscard]] std::size_t stage_of(std::size_t rank, std::int32_t chunk) const {
    return passes_[rank * chunks_ + static_cast<std::size_t>(chunk)].stage;
  }

  [[nodiscard]] Input last_input(std::size_t rank, const TaskLinks& links) const {
    Input input;
    for (const std::int32_t awaited : links.inputs) {
      if (awaited < 0) {
        continue;
      }
      const Output& output = outputs_[static_cast<std::size_t>(awaited)];
      const bool sent = output.producer.rank != rank;
      input.sent = sent ? std::max(input.sent, output.arrived) : input.sent;
      input.arrived = max(input.arrived, sent ? output.arrived.time : output.end);
    }
    return input;
  }

  [[nodiscard]] Moment last_task(std::int32_t of_rank) const {
    const auto rank = static_cast<std::size_t>(of_rank);
    const std::size_t tasks = timelines_[rank].spans.size();
    return {timelines_[rank].end, {rank, tasks == 0 ? 0 : tasks - 1}};
  }

  void carry(const SequencedTransfer& transfer) {
    Moment moment = streams_.start(transfer, last_task(transfer.from), last_task(transfer.to));
    moment.time += transfer_;
    outputs_[static_cast<std::size_t>(transfer.output)].arrived = moment;
    streams_.end(transfer, moment);
  }

  void run_task(const TaskPlace& place, const PipelineTask& task) {
    const bool pair = task.kind == TaskKind::kOverlapped;
    Passes& own = passes(place.rank, task.chunk);
    Passes& back = pair ? passes(place.rank, task.backward_chunk) : own;
    const TaskLinks links = links_of(task, static_cast<std::int64_t>(own.stage),
                                     static_cast<std::int64_t>(back.stage), numbers_);
    RankTimeline& timeline = timelines_[place.rank];
    TaskSpan span;
    span.task = task;
    span.begins = !own.begun && task.runs_forward();
    const Seconds free = timeline.end;
    Input input = last_input(place.rank, links);
    if (order_ == PipelineTransfers::kStepped) {
      input.sent = std::max(input.sent, streams_.ended(place.rank));
    }
    span.start = begin(timeline, input, span.begins, stages_[own.stage].ready);
    span.end = span.start + task_duration(task.kind, own.stage, back.stage, stages_, savings_);
    if (span.begins) {
      own.begun = true;
      span.end += stages_[own.stage].first_extra;
    }
    span.closes = activation_change(task).returned != kNoChunk && --back.backwards == 0;
    if (span.closes) {
      span.end += stages_[back.stage].last_extra;
    }
    timeline.chunk_end[static_cast<std::size_t>(task.chunk)] = span.end;
    if (pair) {
      timeline.chunk_end[static_cast<std::size_t>(task.backward_chunk)] = span.end;
    }
    timeline.spans.push_back(span);
    timeline.end = span.end;
    tell(place, span, links, free, input);
    for (const std::int32_t made : links.outputs) {
      if (made >= 0) {
        outputs_[static_cast<std::size_t>(made)] = {span.end, place, {span.end + transfer_, place}};
      }
    }
  }

  // `free`: when the task before on the rank ended.
  void tell(const TaskPlace& place, const TaskSpan& span, const TaskLinks& links, Seconds free,
            const Input& input) const {
    if (listener_ == nullptr) {
      return;
    }
    for (const std::int32_t awaited : links.inputs) {
      const Output* made = awaited < 0 ? nullptr : &outputs_[static_cast<std::size_t>(awaited)];
      if (made != nullptr && made->producer.rank != place.rank && transfer_ > Seconds{}) {
        const Seconds arrived = made->arrived.time;
        const Seconds start = order_ == PipelineTransfers::kFree ? made->end : arrived - transfer_;
        listener_->transfer(
            {made->producer.rank, place.rank, awaited / numbers_.stride(), start, arrived});
      }
    }
    const auto ready = [&] {
      return span.begins && span.start <= stages_[stage_of(place.rank, span.task.chunk)].ready;
    };
    const WaitedFor last = span.start <= free                   ? WaitedFor::kRank
                           : input.sent.time <= free || ready() ? WaitedFor::kParameters
                                                                : WaitedFor::kInput;
    const bool sent = last == WaitedFor::kInput;
    listener_->task({place, span, last, sent ? input.sent.behind : TaskPlace{}});
  }

  // When a task starts; notes what its rank waits for until then.
  Seconds begin(RankTimeline& timeline, const Input& input, bool first, Seconds ready) const {
    const Seconds free = timeline.end;
    const Seconds arrived = max(free, max(input.arrived, input.sent.time));
    const Seconds start = first ? max(arrived, ready) : arrived;
    const Seconds on_its_way = min(max(input.arrived - free, Seconds{}), transfer_);
    timeline.parameters += start - arrived;
    timeline.transfer += on_its_way;
    timeline.bubble += arrived - free - on_its_way;
    return start;
  }

  PipelineTransfers order_;
  std::size_t chunks_;
  const std::vector<StageDuration>& stages_;
  Seconds transfer_;
  const PairSavings& savings_;
  TaskListener* listener_;
  const std::vector<RankOrder>& orders_;
  OutputNumbers numbers_;
  std::vector<RankTimeline> timelines_;
  std::vector<Passes> passes_;  // rank-major, by chunk
  std::vector<Output> outputs_;
  TransferStreams<Moment> streams_;  // of transfers in order
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
                                            Seconds transfer, const PairSavings& savings,
                                            PipelineTransfers order, TaskListener* listener) {
  STEPCAST_CHECK(static_cast<std::int64_t>(stages.size()) == stage_count(shape),
                 "one duration a stage is needed");
  return TimelineRun(schedule, shape, orders, stages, transfer, savings, order, listener)
      .run(pipeline_sequence(schedule, shape, orders, order));
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
