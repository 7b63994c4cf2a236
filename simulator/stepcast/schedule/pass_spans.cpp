// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/pass_spans.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "stepcast/base/sum.hpp"
#include "stepcast/schedule/paired_passes.hpp"

namespace stepcast {
namespace {

// How far a host is ahead where the step's time counts its launches apart, or not at all.
constexpr Seconds kHostFarAhead{1e6};

void sort_by_start(std::vector<StreamSpan>& spans) {
  std::ranges::stable_sort(spans, {}, &StreamSpan::start);
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
  return std::ranges::any_of(spans, [&](const StreamSpan& span) {
    return span.axis && *span.axis != Axis::kData && span.start < to && span.end > from;
  });
}

WeightStretches stretches_of(const RecordedPass& backward, const std::vector<bool>& of_weights) {
  WeightStretches weights;
  Seconds free;
  for (std::size_t i = 0; i < of_weights.size(); ++i) {
    const StreamSpan& span = backward.spans[i];
    if (span.axis) {
      continue;
    }
    if (!waits_in(backward.spans, free, span.start)) {
      weights.add(free, span.start);
    }
    if (of_weights[i]) {
      weights.add(span.start, span.end);
    }
    free = span.end;
  }
  return weights;
}

std::set<std::int32_t> operators_of(const RecordedPass& pass) {
  std::set<std::int32_t> operators;
  for (const StreamSpan& span : pass.spans) {
    operators.insert(span.op);
  }
  return operators;
}

Seconds computed(const RecordedPass& pass) {
  return sum_over(pass.spans, [](const StreamSpan& span) {
    return span.axis ? Seconds{} : span.end - span.start;
  });
}

// Closes computation up that would end after `duration`, as far as there is room for it.
void fit(RecordedPass& pass, Seconds duration) {
  StreamQueue queue;
  queue.left = computed(pass);
  queue.limit = max(duration, queue.left);
  queue.close();
  for (StreamSpan& span : pass.spans) {
    if (!span.axis) {
      const SpanTime time = queue.next({span.start, span.end});
      span.start = time.start;
      span.end = time.end;
    }
  }
  sort_by_start(pass.spans);
}

// Makes computation longer or shorter, all of it alike, until it takes `time`.
void stretch(RecordedPass& pass, Seconds time) {
  const Seconds before = computed(pass);
  if (!(before > Seconds{})) {
    return;
  }
  for (StreamSpan& span : pass.spans) {
    if (!span.axis) {
      span.end = span.start + (time / before) * (span.end - span.start);
    }
  }
}

// Both parts together have room for all their kernels; what does not fit into one is the other's.
void even_out(SplitBackward& split) {
  const Seconds input = split.input.time.duration();
  const Seconds weight = split.weight.time.duration();
  const Seconds of_input = computed(split.input);
  const Seconds of_weight = computed(split.weight);
  if (of_weight > weight) {
    stretch(split.input, of_input + (of_weight - weight));
    stretch(split.weight, weight);
  } else if (of_input > input) {
    stretch(split.weight, of_weight + (of_input - input));
    stretch(split.input, input);
  }
  fit(split.weight, weight);
  fit(split.input, input);
}

// What the first or last pass runs besides, in a pair.
void add_spans_besides(const EndPass& end, Seconds later, RecordedPass& pair) {
  const std::set<std::int32_t> known = operators_of(end.between);
  for (const StreamSpan& span : end.own.spans) {
    if (!known.contains(span.op)) {
      pair.spans.push_back(moved(span, span.start + later));
    }
  }
}

}  // namespace

void StreamQueue::close() {
  shorter = left > limit ? limit / left : 1.0;
  left = shorter * left;
}

SpanTime StreamQueue::next(const SpanTime& span) {
  const Seconds rounding = kRounding * limit;
  const Seconds length = shorter * (span.end - span.start);
  const Seconds latest = limit - left;
  const Seconds start = min(max(span.start, free), latest);
  const bool moves =
      shorter < 1.0 || start > span.start + rounding || start < span.start - rounding;
  const SpanTime placed = moves ? SpanTime{start, start + length} : span;
  free = placed.end;
  left -= length;
  return placed;
}

RecordedPass sequence(RecordedPass first, const RecordedPass& second) {
  const Seconds before = first.time.duration();
  for (const StreamSpan& span : second.spans) {
    first.spans.push_back(moved(span, span.start + before));
  }
  first.time.spent += second.time.spent;
  sort_by_start(first.spans);
  return first;
}

PassSpans::PassSpans(const StepContext& context)
    : context_(context),
      operators_(step_operators(context.expansion)),
      tasks_(price_step(operators_, context, &noted_.ops)) {
  StageBuilder builder;
  for (std::size_t i = 0; i < operators_.stages.size(); ++i) {
    traffic_.push_back(
        host_traffic(context.expansion, context.cluster, builder.stage(context.expansion, i)));
  }
  note_places();
}

void PassSpans::note(const TaskList& tasks, const OpPlace& place) {
  for (const StreamTask& task : tasks) {
    if (task.op >= 0) {
      noted_.places[static_cast<std::size_t>(task.op)] = place;
      weight_gradient_[static_cast<std::size_t>(task.op)] = task.weight_gradient;
    }
  }
}

void PassSpans::note_places() {
  noted_.places.resize(noted_.ops.size());
  weight_gradient_.resize(noted_.ops.size());
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
      noted_.places[static_cast<std::size_t>(first) + i].role = TaskRole::kRecompute;
    }
  }
}

std::vector<bool> PassSpans::weight_part(const RecordedPass& backward, Seconds weight) const {
  std::vector<bool> later(backward.spans.size());
  Seconds too_long = -1.0 * weight;
  for (std::size_t i = 0; i < later.size(); ++i) {
    const StreamSpan& span = backward.spans[i];
    later[i] = span.op >= 0 && weight_gradient_[static_cast<std::size_t>(span.op)];
    too_long += later[i] ? span.end - span.start : Seconds{};
  }
  for (std::size_t i = 0; i < later.size(); ++i) {
    const Seconds length = backward.spans[i].end - backward.spans[i].start;
    if (later[i] && too_long >= 0.5 * length) {
      later[i] = false;
      too_long -= length;
    }
  }
  return later;
}

GatherTime PassSpans::gather_time(std::size_t stage) const {
  return context_.expansion.plan.uniform ? GatherTime{} : first_gather(program(stage));
}

RecordedPass PassSpans::parameters(std::size_t stage) const {
  RecordedPass pass;
  const GatherTime time = gather_time(stage);
  if (!(time.first > Seconds{})) {
    return pass;
  }
  const bool all = time.first == time.all;
  RankStreams streams(kHostFarAhead, &pass.spans);
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

RecordedPass PassSpans::forward(std::size_t stage, const PassPlace& place) const {
  RecordedPass pass;
  pass.time = forward_of(program(stage), place, context_, &pass.spans);
  sort_by_start(pass.spans);
  return pass;
}

RecordedPass PassSpans::backward(std::size_t stage, const PassPlace& place) const {
  RecordedPass pass;
  pass.time = backward_of(program(stage), place, context_, &pass.spans);
  sort_by_start(pass.spans);
  return pass;
}

SplitBackward PassSpans::split(const EndPass& pass) const {
  const RecordedPass& backward = pass.own;
  const Seconds input = pass.between.time.duration() - pass.between.time.weight;
  const Seconds weight = backward.time.duration() - input;
  const std::vector<bool> of_weights = weight_part(backward, weight);
  const WeightStretches weights = stretches_of(backward, of_weights);
  SplitBackward split;
  const Seconds end = weight + backward.time.backlog;
  Seconds reduced;
  for (std::size_t i = 0; i < of_weights.size(); ++i) {
    const StreamSpan& span = backward.spans[i];
    const bool reduces = stream_of(span, noted_) == RankStream::kReduce;
    const Seconds later = weights.before(span.start);
    if (reduces) {
      const Seconds latest = end - (span.end - span.start);
      split.weight.spans.push_back(moved(span, max(later, min(reduced, latest))));
      reduced = split.weight.spans.back().end;
    } else if (of_weights[i]) {
      split.weight.spans.push_back(moved(span, later));
    } else {
      split.input.spans.push_back(moved(span, span.start - later));
    }
  }
  split.weight.time.spent.compute = weight;
  split.weight.time.backlog = backward.time.backlog;
  split.input.time.spent.compute = input;
  even_out(split);
  return split;
}

std::optional<RecordedPass> PassSpans::pair(const EndPass& forward, std::size_t forward_stage,
                                            const EndPass& backward,
                                            std::size_t backward_stage) const {
  if (!pairs_passes(context_.expansion)) {
    return std::nullopt;
  }
  std::optional<PairSpans> together =
      spans_of_pair(program(forward_stage), program(backward_stage));
  if (!together ||
      together->duration >= forward.between.time.duration() + backward.between.time.duration()) {
    return std::nullopt;
  }
  RecordedPass pair;
  pair.spans = std::move(together->spans);
  pair.time.spent.compute = together->duration;
  const Seconds all = computed(pair) + (computed(forward.own) - computed(forward.between)) +
                      (computed(backward.own) - computed(backward.between));
  add_spans_besides(forward, Seconds{}, pair);
  add_spans_besides(backward, max(Seconds{}, together->duration - backward.own.time.duration()),
                    pair);
  stretch(pair, all);
  fit(pair, together->duration + (forward.own.time.duration() - forward.between.time.duration()) +
                (backward.own.time.duration() - backward.between.time.duration()));
  return pair;
}

RecordedPass PassSpans::optimizer(std::size_t rank) const {
  RecordedPass pass;
  RankStreams streams(kHostFarAhead, &pass.spans);
  for (const RepeatedTasks& part : tasks_.optimizer[rank]) {
    for (std::int64_t i = 0; i < part.times; ++i) {
      streams.run(part.tasks);
    }
  }
  pass.time.spent = streams.totals().spent;
  return pass;
}

}  // namespace stepcast
