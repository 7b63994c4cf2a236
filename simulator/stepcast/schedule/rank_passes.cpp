// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/rank_passes.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "stepcast/pipeline/pipeline_stages.hpp"
#include "stepcast/schedule/data_parallel.hpp"

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

// The passes of a rank by their start, and their lists of spans.
struct PassLists {
  std::vector<std::vector<StreamSpan>> programs;
  std::vector<PlacedPass> passes;
  std::vector<std::int32_t> closes;  // of `passes`: the chunk whose last backward it is, or none
};

// Whether communication of a pass is left to run when its tasks have ended.
bool is_left(const StreamSpan& span, const PlacedPass& pass) {
  return span.axis && span.start >= pass.end - pass.start;
}

// --- passes -----------------------------------------------------------------------------------

class PassPlacer {
 public:
  PassPlacer(const StepContext& context, const PassSpans& spans, std::size_t rank)
      : spans_(spans),
        one_micro_batch_(context.expansion.plan.micro_batches == 1),
        own_(stages_of_rank(context.expansion.plan, static_cast<std::int64_t>(rank))) {}

  PassLists place(const RankTimeline& timeline) {
    place_parameters();
    for (const TaskSpan& span : timeline.spans) {
      if (span.closes && span.task.kind == TaskKind::kWeightGradient) {
        closing_.emplace(span.task.chunk, span.task.micro_batch);
      }
    }
    for (const TaskSpan& span : timeline.spans) {
      const PipelineTask& task = span.task;
      placed_.push_back({{part_of(task.kind), task, program_of(span), span.start, span.end, {}},
                         span.closes ? activation_change(task).returned : kNoChunk});
    }
    std::ranges::stable_sort(
        placed_, [](const Placed& a, const Placed& b) { return a.pass.start < b.pass.start; });
    for (Placed& placed : placed_) {
      result_.passes.push_back(std::move(placed.pass));
      result_.closes.push_back(placed.closes);
    }
    return std::move(result_);
  }

 private:
  struct Placed {
    PlacedPass pass;
    std::int32_t closes = kNoChunk;  // as PassLists::closes
  };
  struct Stages {
    std::size_t forward = 0;
    std::size_t backward = 0;
  };
  using ProgramKey = std::tuple<TaskKind, std::size_t, std::size_t, Turn, Turn>;

  std::size_t add_program(RecordedPass pass) {
    result_.programs.push_back(std::move(pass.spans));
    return result_.programs.size() - 1;
  }

  void place_parameters() {
    Seconds before;
    for (const RankStage& stage : own_) {
      RecordedPass pass = spans_.parameters(stage.stage);
      if (!pass.spans.empty()) {
        const Seconds end = before + pass.time.duration();
        PipelineTask task;
        task.chunk = static_cast<std::int32_t>(stage.chunk);
        placed_.push_back(
            {{PassPart::kParameters, task, add_program(std::move(pass)), before, end, {}}});
      }
      before += spans_.gather_time(stage.stage).all;
    }
  }

  // Whether a task is the last backward of its chunk, or a part of it. Of the two parts the
  // timeline has the gradient of the weights take all that the last one takes longer.
  [[nodiscard]] bool is_last(const TaskSpan& span) const {
    return span.closes || (span.task.kind == TaskKind::kInputGradient &&
                           closing_.contains({span.task.chunk, span.task.micro_batch}));
  }

  // The spans of a task, recorded when they are first needed.
  std::size_t program_of(const TaskSpan& span) {
    const PipelineTask& task = span.task;
    const bool pair = task.kind == TaskKind::kOverlapped;
    const auto stage_of = [this](std::int32_t chunk) {
      return own_[static_cast<std::size_t>(chunk)].stage;
    };
    const Stages stages{stage_of(task.chunk), stage_of(pair ? task.backward_chunk : task.chunk)};
    const Turn forward = span.begins ? Turn::kFirst : Turn::kBetween;
    const Turn backward = is_last(span) ? Turn::kLast : Turn::kBetween;
    const auto [known, added] = programs_.try_emplace(
        ProgramKey(task.kind, stages.forward, stages.backward, forward, backward), 0);
    if (added) {
      known->second = add_program(recorded(task.kind, stages, forward, backward));
    }
    return known->second;
  }

  [[nodiscard]] RecordedPass recorded(TaskKind kind, const Stages& stages, Turn forward,
                                      Turn backward) const {
    switch (kind) {
      case TaskKind::kForward:
        return forward_of(stages.forward, forward);
      case TaskKind::kBackward:
        return backward_of(stages.backward, backward);
      case TaskKind::kInputGradient:
        return split(stages.backward, backward).input;
      case TaskKind::kWeightGradient:
        return split(stages.backward, backward).weight;
      case TaskKind::kOverlapped:
        break;
    }
    return pair_of(stages, forward, backward);
  }

  [[nodiscard]] RecordedPass forward_of(std::size_t stage, Turn turn) const {
    const bool first = turn == Turn::kFirst || one_micro_batch_;
    return spans_.forward(stage, first ? PassPlace{.first = true, .host_lead = {}} : PassPlace{});
  }

  [[nodiscard]] RecordedPass backward_of(std::size_t stage, Turn turn) const {
    PassPlace place{.last = turn == Turn::kLast || one_micro_batch_};
    if (one_micro_batch_) {
      place.host_lead = forward_of(stage, Turn::kFirst).time.host_lead;
    }
    return spans_.backward(stage, place);
  }

  [[nodiscard]] SplitBackward split(std::size_t stage, Turn turn) const {
    return spans_.split({backward_of(stage, turn), backward_of(stage, Turn::kBetween)});
  }

  [[nodiscard]] RecordedPass pair_of(const Stages& stages, Turn forward, Turn backward) const {
    EndPass first{forward_of(stages.forward, forward), forward_of(stages.forward, Turn::kBetween)};
    EndPass last{backward_of(stages.backward, backward),
                 backward_of(stages.backward, Turn::kBetween)};
    std::optional<RecordedPass> pair = spans_.pair(first, stages.forward, last, stages.backward);
    return pair ? std::move(*pair) : sequence(std::move(first.own), last.own);
  }

  const PassSpans& spans_;
  bool one_micro_batch_;
  std::vector<RankStage> own_;
  std::set<std::pair<std::int32_t, std::int32_t>> closing_;  // gradients of weights: chunk, batch
  std::map<ProgramKey, std::size_t> programs_;
  std::vector<Placed> placed_;
  PassLists result_;
};

// --- streams ----------------------------------------------------------------------------------

// What runs on the streams of a rank, one span behind the other on each.
class StreamQueues {
 public:
  StreamQueues(const PassLists& lists, const StepOps& operators, const RankEnd& end)
      : lists_(lists), operators_(operators) {
    for (StreamQueue& queue : queues_) {
      queue.limit = end.tasks;
    }
    for (const RankStream stream : {RankStream::kGather, RankStream::kReduce}) {
      queues_[static_cast<std::size_t>(stream)].limit = end.reduced();
    }
    std::vector<std::array<Seconds, kRankStreams>> sums(lists.programs.size());
    for (std::size_t program = 0; program < sums.size(); ++program) {
      for (const StreamSpan& span : lists.programs[program]) {
        sums[program][stream(span)] += span.end - span.start;
      }
    }
    for (const PlacedPass& pass : lists.passes) {
      for (std::size_t i = 0; i < kRankStreams; ++i) {
        queues_[i].left += sums[pass.program][i];
      }
    }
    for (StreamQueue& queue : queues_) {
      queue.close();
    }
  }

  // Queues the spans of a pass, those that `chosen` says of, which begin no earlier than by their
  // list, and `later`.
  template <typename Chosen>
  void queue(PlacedPass& pass, Seconds later, Chosen chosen) {
    const std::vector<StreamSpan>& spans = lists_.programs[pass.program];
    for (std::size_t i = 0; i < spans.size(); ++i) {
      if (!chosen(spans[i])) {
        continue;
      }
      const SpanTime listed = listed_time(pass, spans[i]);
      const SpanTime own = queues_[stream(spans[i])].next(
          {pass.start + later + spans[i].start, pass.start + later + spans[i].end});
      if (own.start != listed.start || own.end != listed.end) {
        if (pass.queued.empty()) {
          pass.queued = unmoved(pass, spans);
        }
        pass.queued[i] = own;
      }
    }
  }

 private:
  [[nodiscard]] std::size_t stream(const StreamSpan& span) const {
    return static_cast<std::size_t>(stream_of(span, operators_));
  }

  static SpanTime listed_time(const PlacedPass& pass, const StreamSpan& span) {
    return {pass.start + span.start, pass.start + span.end};
  }
  static std::vector<SpanTime> unmoved(const PlacedPass& pass,
                                       const std::vector<StreamSpan>& spans) {
    std::vector<SpanTime> times;
    times.reserve(spans.size());
    for (const StreamSpan& span : spans) {
      times.push_back(listed_time(pass, span));
    }
    return times;
  }

  const PassLists& lists_;
  const StepOps& operators_;
  std::array<StreamQueue, kRankStreams> queues_;
};

// Software that does not overlap reductions begins those of a chunk's last backward when all tasks
// of the rank have ended.
void queue_spans(PassLists& lists, const StepOps& operators, const RankEnd& end, bool overlaps) {
  StreamQueues queues(lists, operators, end);
  std::map<std::int32_t, PlacedPass*> later;  // the passes, by their chunks
  for (std::size_t i = 0; i < lists.passes.size(); ++i) {
    PlacedPass& pass = lists.passes[i];
    const std::int32_t chunk = lists.closes[i];
    const bool waits = chunk != kNoChunk && !overlaps;
    if (waits) {
      later[chunk] = &pass;
    }
    queues.queue(pass, {}, [&](const StreamSpan& span) { return !waits || !is_left(span, pass); });
  }
  for (const auto& [chunk, pass] : later) {
    queues.queue(*pass, end.tasks - pass->end,
                 [own = pass](const StreamSpan& span) { return is_left(span, *own); });
  }
}

}  // namespace

void RankPasses::tell(const RankTimeline& timeline, const RankEnd& end,
                      StepListener& listener) const {
  PassLists lists = PassPlacer(context_, spans_, end.rank).place(timeline);
  queue_spans(lists, operators(), end, traffic_rule(context_.expansion).reduces_beside_backward);
  for (const PlacedPass& pass : lists.passes) {
    listener.pass(pass, lists.programs[pass.program]);
  }
  PlacedPass optimizer;
  optimizer.part = PassPart::kOptimizer;
  optimizer.program = lists.programs.size();
  optimizer.start = end.reduced();
  optimizer.end = end.end();
  listener.pass(optimizer, spans_.optimizer(end.rank).spans);
}

}  // namespace stepcast
