// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/pass_recorder.hpp"

#include <algorithm>
#include <utility>

#include "stepcast/schedule/paired_passes.hpp"
#include "stepcast/schedule/uniform_spans.hpp"

namespace stepcast {
namespace {

void sort_by_start(std::vector<StreamSpan>& spans) {
  std::stable_sort(spans.begin(), spans.end(),
                   [](const StreamSpan& a, const StreamSpan& b) { return a.start < b.start; });
}

StreamSpan moved(StreamSpan span, Seconds to) {
  const Seconds by = to - span.start;
  span.start += by;
  span.end += by;
  span.cause += by;
  return span;
}

// The stretches of a backward pass that belong to the gradients of weights.
class WeightStretches {
 public:
  void add(Seconds from, Seconds to) {
    if (to > from) {
      stretches_.emplace_back(from, to);
    }
  }
  // How much of the time before `time` is in them.
  [[nodiscard]] Seconds before(Seconds time) const {
    Seconds sum;
    for (const auto& [from, to] : stretches_) {
      sum += max(Seconds{}, min(to, time) - from);
    }
    return sum;
  }

 private:
  std::vector<std::pair<Seconds, Seconds>> stretches_;
};

// Whether communication that the gradient of the input waits for runs in a gap of computation.
bool waits_in(const std::vector<StreamSpan>& spans, Seconds from, Seconds to) {
  return std::any_of(spans.begin(), spans.end(), [&](const StreamSpan& span) {
    return span.axis && *span.axis != Axis::kData && span.start < to && span.end > from;
  });
}

// Shortens computation that ends after `duration` to it.
void fit(RecordedPass& pass, Seconds duration) {
  Seconds end;
  for (const StreamSpan& span : pass.spans) {
    end = span.axis ? end : max(end, span.end);
  }
  if (end > duration && duration > Seconds{}) {
    const double shorter = duration / end;
    for (StreamSpan& span : pass.spans) {
      const Seconds length = span.end - span.start;
      span.start = shorter * span.start;
      span.end = span.axis ? span.start + length : shorter * span.end;
    }
  }
  sort_by_start(pass.spans);
}

}  // namespace

PassRecorder::PassRecorder(const StepContext& context)
    : context_(context),
      operators_(step_operators(context.expansion)),
      tasks_(price_step(operators_, context, &ops_)) {
  note_places();
}

void PassRecorder::note(const TaskList& tasks, const OpPlace& place) {
  for (const StreamTask& task : tasks) {
    if (task.op >= 0) {
      places_[static_cast<std::size_t>(task.op)] = place;
      weight_gradient_[static_cast<std::size_t>(task.op)] = task.weight_gradient;
    }
  }
}

void PassRecorder::note_places() {
  places_.resize(ops_.size());
  weight_gradient_.resize(ops_.size());
  for (std::size_t layer = 0; layer < tasks_.layers.size(); ++layer) {
    const LayerTasks& tasks = tasks_.layers[layer];
    note(tasks.forward, {layer, TaskRole::kForward});
    note(tasks.full_recompute, {layer, TaskRole::kRecompute});
    note(tasks.backward, {layer, TaskRole::kBackward});
    for (const TaskList* list : {&tasks.gather, &tasks.copy_out}) {
      note(*list, {layer, TaskRole::kGather});
    }
    for (const TaskList* list : {&tasks.before_reduce, &tasks.reduce, &tasks.replicas}) {
      note(*list, {layer, TaskRole::kReduce});
    }
    // Backward begins with what selective recomputation runs once more.
    std::int32_t first = -1;
    for (const StreamTask& task : tasks.backward) {
      first = task.op >= 0 && (first < 0 || task.op < first) ? task.op : first;
    }
    for (std::size_t i = 0; i < operators_.layers[layer].ops->recompute.size(); ++i) {
      places_[static_cast<std::size_t>(first) + i].role = TaskRole::kRecompute;
    }
  }
}

bool PassRecorder::is_weight_gradient(const StreamSpan& span) const {
  return span.op >= 0 && weight_gradient_[static_cast<std::size_t>(span.op)];
}

GatherTime PassRecorder::gather_time(std::size_t stage) const {
  return context_.expansion.plan.uniform ? GatherTime{} : first_gather(program(stage));
}

RecordedPass PassRecorder::parameters(std::size_t stage) const {
  RecordedPass pass;
  const GatherTime time = gather_time(stage);
  if (!(time.first > Seconds{})) {
    return pass;
  }
  const bool all = time.first == time.all;
  RankStreams streams(Seconds(1.0), &pass.spans);
  for (const LayerInOrder& entry : layers_in_order(operators_.stages[stage])) {
    const TaskList& gather = tasks_.layers[entry.layer].gather;
    streams.run(gather);
    if (!gather.empty() && !all) {
      break;
    }
  }
  pass.time.spent.exposed[slot(Axis::kData)] = streams.totals().now;
  sort_by_start(pass.spans);
  return pass;
}

RecordedPass PassRecorder::forward(std::size_t stage, const PassPlace& place) const {
  RecordedPass pass;
  const ParallelPlan& plan = context_.expansion.plan;
  const StageProgram own = program(stage);
  if (plan.uniform) {
    pass.time = uniform_forward(own, place, plan.overlap, occupied_shares(context_));
    pass.spans = uniform_forward_spans(own, place, pass.time);
  } else {
    pass.time = forward_pass(own, place, &pass.spans);
  }
  sort_by_start(pass.spans);
  return pass;
}

RecordedPass PassRecorder::backward(std::size_t stage, const PassPlace& place) const {
  RecordedPass pass;
  const ParallelPlan& plan = context_.expansion.plan;
  const StageProgram own = program(stage);
  if (plan.uniform) {
    pass.time = uniform_backward(own, place, plan.overlap, occupied_shares(context_));
    pass.spans = uniform_backward_spans(own, place, pass.time);
  } else {
    pass.time = backward_pass(own, place, &pass.spans);
  }
  sort_by_start(pass.spans);
  return pass;
}

SplitBackward PassRecorder::split(const RecordedPass& backward) const {
  WeightStretches weights;
  Seconds free;
  for (const StreamSpan& span : backward.spans) {
    if (span.axis) {
      continue;
    }
    if (!waits_in(backward.spans, free, span.start)) {
      weights.add(free, span.start);
    }
    if (is_weight_gradient(span)) {
      weights.add(span.start, span.end);
    }
    free = span.end;
  }
  SplitBackward split;
  const Seconds end = backward.time.weight + backward.time.backlog;
  Seconds reduced;
  for (const StreamSpan& span : backward.spans) {
    const bool reduces = span.axis == Axis::kData && span.op >= 0 &&
                         places_[static_cast<std::size_t>(span.op)].role == TaskRole::kReduce;
    const Seconds later = weights.before(span.start);
    if (reduces) {
      const Seconds latest = end - (span.end - span.start);
      split.weight.spans.push_back(moved(span, max(later, min(reduced, latest))));
      reduced = split.weight.spans.back().end;
    } else if (is_weight_gradient(span)) {
      split.weight.spans.push_back(moved(span, later));
    } else {
      split.input.spans.push_back(moved(span, span.start - later));
    }
  }
  split.weight.time.spent.compute = backward.time.weight;
  split.weight.time.backlog = backward.time.backlog;
  split.input.time.spent.compute = backward.time.duration() - backward.time.weight;
  fit(split.weight, split.weight.time.duration());
  fit(split.input, split.input.time.duration());
  return split;
}

RecordedPass PassRecorder::pair(const RecordedPass& forward, std::size_t forward_stage,
                                const RecordedPass& backward, std::size_t backward_stage) const {
  const Seconds apart = forward.time.duration() + backward.time.duration();
  std::optional<PairSpans> together =
      spans_of_pair(program(forward_stage), program(backward_stage));
  RecordedPass pair;
  if (together && together->duration < apart) {
    pair.spans = std::move(together->spans);
    pair.time.spent.compute = together->duration;
  } else {
    pair = forward;
    for (const StreamSpan& span : backward.spans) {
      pair.spans.push_back(moved(span, span.start + forward.time.duration()));
    }
    pair.time.spent += backward.time.spent;
  }
  pair.time.backlog = backward.time.backlog;
  sort_by_start(pair.spans);
  return pair;
}

RecordedPass PassRecorder::optimizer(std::int64_t rank) const {
  RecordedPass pass;
  RankStreams streams(Seconds(1.0), &pass.spans);
  for (const RepeatedTasks& part : tasks_.optimizer[static_cast<std::size_t>(rank)]) {
    for (std::int64_t i = 0; i < part.times; ++i) {
      streams.run(part.tasks);
    }
  }
  pass.time.spent = streams.totals().spent;
  return pass;
}

}  // namespace stepcast
