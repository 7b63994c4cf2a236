// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/pass_timeline.hpp"

#include <algorithm>
#include <cmath>

namespace stepcast {
namespace {

constexpr double kSame = 1e-12;  // fraction of a layer's duration that rounding may change

bool same(Seconds a, Seconds b, Seconds scale) {
  return std::abs((a - b).value()) <= kSame * scale.value();
}

bool overlaps_gathers(const StageProgram& program) {
  return program.rule.forward_gather == Frequency::kEveryMicroBatch ||
         program.software.overlap_param_gather;
}

class Pass {
 public:
  Pass(const StageProgram& program, const PassPlace& place, std::vector<StreamSpan>* record)
      : program_(program),
        place_(place),
        exact_(record == nullptr),
        streams_(place.host_lead, record),
        layers_(layers_in_order(program.runs)) {}

  PassTime forward() {
    gathers_ = place_.gathers(program_.rule.forward_gather);
    if (place_.first) {
      // The parameters of the first layer are there already; so are all of them where the software
      // does not overlap gathers with forward.
      gathers_ = gathers_ && overlaps_gathers(program_);
    } else {
      prefetch(0);
    }
    ticket_ = 0;  // its gather overlapped with the pass before
    run_layers([this](std::size_t place) { forward_layer(place); });
    return result();
  }

  PassTime backward() {
    backward_ = true;
    std::reverse(layers_.begin(), layers_.end());
    gathers_ = program_.rule.backward_gather == Frequency::kEveryMicroBatch;
    reduces_ = place_.reduces(program_.rule.reduce);
    prefetch(0);
    run_layers([this](std::size_t place) { backward_layer(place); });
    if (reduces_ && !overlaps_reductions()) {
      for (const LayerInOrder& entry : layers_) {
        reduce(tasks(entry));
      }
    }
    const PassTime time = result();
    streams_.wait_for_all();  // for the record: what is left ends after the pass
    return time;
  }

 private:
  [[nodiscard]] const LayerTasks& tasks(const LayerInOrder& entry) const {
    return program_.tasks.layers[entry.layer];
  }
  [[nodiscard]] const LayerSums& sums(const LayerInOrder& entry) const {
    return program_.tasks.sums[entry.layer];
  }
  [[nodiscard]] bool overlaps_reductions() const { return program_.rule.reduces_beside_backward; }
  [[nodiscard]] bool gathers(std::size_t place) const {
    const LayerTasks& layer = tasks(layers_[place]);
    return gathers_ && !layer.gather.empty() && !(backward_ && layer.stays_gathered);
  }

  [[nodiscard]] std::int64_t gathers_of_layer() const {
    return backward_ ? program_.rule.backward_gathers : 1;
  }

  // Whether the gathers of this pass run beside the layers before.
  [[nodiscard]] bool prefetches() const {
    const FsdpOverlap overlap = program_.software.fsdp_overlap;
    return program_.rule.forward_gather != Frequency::kEveryMicroBatch ||
           overlap == FsdpOverlap::kAll || (overlap == FsdpOverlap::kForward && !backward_);
  }

  void post_gather(std::size_t place) {
    for (std::int64_t i = 0; i < gathers_of_layer(); ++i) {
      ticket_ = streams_.post(tasks(layers_[place]).gather);
    }
  }

  // Posts the gather of the first layer from `place` on that has one.
  void prefetch(std::size_t place) {
    if (!prefetches()) {
      return;
    }
    while (place < layers_.size() && !gathers(place)) {
      ++place;
    }
    ticket_ = 0;
    if (place < layers_.size()) {
      post_gather(place);
    }
  }

  void receive(std::size_t place) {
    if (!gathers(place)) {
      return;
    }
    if (!prefetches()) {
      post_gather(place);
    }
    if (ticket_ != 0) {
      streams_.wait(ticket_);
    }
    for (std::int64_t i = 0; i < gathers_of_layer(); ++i) {
      streams_.run(tasks(layers_[place]).copy_out);
    }
    prefetch(place + 1);
  }

  void forward_layer(std::size_t place) {
    receive(place);
    streams_.run(tasks(layers_[place]).forward);
  }

  void backward_layer(std::size_t place) {
    const LayerTasks& layer = tasks(layers_[place]);
    posted_last_ = {};
    receive(place);
    if (layers_[place].recomputed) {
      streams_.run(layer.full_recompute);
    }
    streams_.run(layer.backward);
    if (reduces_ && overlaps_reductions()) {
      reduce(layer);
    }
    if (place_.last) {
      reduced_ = std::max(reduced_, streams_.post(layer.replicas));
      posted_last_ += duration_of(layer.replicas);
    }
  }

  // The buffer of the reduction before is free when it has ended.
  void reduce(const LayerTasks& layer) {
    if (layer.reduce.empty()) {
      return;
    }
    streams_.run(layer.before_reduce);
    if (!layer.before_reduce.empty()) {
      streams_.wait(reduced_);
    }
    reduced_ = streams_.post(layer.reduce);
    posted_last_ += duration_of(layer.reduce);
    if (program_.rule.reduce == Frequency::kEveryMicroBatch &&
        program_.software.fsdp_overlap != FsdpOverlap::kAll) {
      streams_.wait(reduced_);
    }
  }

  // Runs every layer, or leaves out those that only repeat.
  template <typename RunLayer>
  void run_layers(RunLayer run_layer) {
    StreamTotals before;
    StreamTotals middle = streams_.totals();
    streams_.left_of_tasks(left_);
    for (std::size_t place = 0; place < layers_.size(); ++place) {
      before = middle;
      std::swap(left_, left_before_);
      middle = streams_.totals();
      run_layer(place);
      streams_.left_of_tasks(left_);
      const std::size_t rest = repeating(place);
      if (exact_ && rest > 0 && repeats(before, middle)) {
        streams_.repeat_since(middle, static_cast<std::int64_t>(rest));
        place += rest;
      }
    }
  }

  // Layers after `place` that do the same as it and the one before did, the last of its kind, whose
  // successor is another one, left out.
  [[nodiscard]] std::size_t repeating(std::size_t place) const {
    if (place == 0 || !(layers_[place - 1] == layers_[place])) {
      return 0;
    }
    std::size_t end = place;
    while (end + 1 < layers_.size() && layers_[end + 1] == layers_[place]) {
      ++end;
    }
    return end > place + 1 ? end - place - 1 : 0;
  }

  // Whether the last layer took what the one before it took, and the host cannot fall behind later.
  [[nodiscard]] bool repeats(const StreamTotals& first, const StreamTotals& second) const {
    const StreamTotals& third = streams_.totals();
    const Seconds duration = third.now - second.now;
    const TimeBreakdown difference = (third.spent - second.spent) - (second.spent - first.spent);
    Seconds off = max(difference.compute, -1.0 * difference.compute);
    off += max(difference.contention, -1.0 * difference.contention);
    off += max(difference.host, -1.0 * difference.host);
    bool equal = same(off, Seconds{}, duration);
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      equal = equal && same(difference.exposed[axis], Seconds{}, duration);
    }
    equal =
        equal && std::equal(left_.begin(), left_.end(), left_before_.begin(), left_before_.end(),
                            [&](Seconds a, Seconds b) { return same(a, b, duration); });
    const Seconds lead_before = second.now - second.host;
    const Seconds lead = third.now - third.host;
    const bool keeps_up =
        lead >= lead_before || same(lead, lead_before, duration) || lead > Seconds(1e5);
    return equal && keeps_up;
  }

  PassTime result() {
    const StreamTotals& totals = streams_.totals();
    PassTime time;
    time.spent = totals.spent;
    // However far ahead the host was, passes that repeat cannot be faster than it launches them.
    const Seconds behind = max(Seconds{}, totals.launching - totals.now);
    time.spent.host += behind;
    // What is left goes on after the pass; whoever waits for it counts it as exposed.
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      time.hidden.exposed[axis] =
          max(Seconds{}, totals.communicated[axis] - time.spent.exposed[axis]);
    }
    time.energy = totals.energy;
    time.host_lead = streams_.host_lead();
    // While the device waits for its host, what it communicates goes on, but for what the last
    // layer of the pass posts at its end.
    const Seconds left = streams_.backlog()[slot(Axis::kData)];
    time.backlog = max(min(left, posted_last_), left - behind);
    if (backward_) {
      TaskSums all;
      for (const LayerInOrder& entry : layers_) {
        all.weight += sums(entry).backward.weight;
        all.launching_weight += sums(entry).backward.launching_weight;
      }
      time.weight = weight_part(time.spent, all, totals.launching);
    }
    return time;
  }

  const StageProgram& program_;
  PassPlace place_;
  bool exact_;
  RankStreams streams_;
  std::vector<LayerInOrder> layers_;
  bool backward_ = false;
  bool gathers_ = false;
  bool reduces_ = false;
  std::int64_t ticket_ = 0;   // of the gather that was posted last
  std::int64_t reduced_ = 0;  // ticket of the reduction that was posted last
  Seconds posted_last_;       // reductions since the last layer of backward began
  // What was left of the tasks of communication after the last layer, and after the one before.
  std::vector<Seconds> left_;
  std::vector<Seconds> left_before_;
};

}  // namespace

Seconds weight_part(const TimeBreakdown& spent, const TaskSums& sums, Seconds launching) {
  const Seconds all = spent.total();
  const Seconds later = spent.host + spent.exposed[slot(Axis::kData)] + sums.weight;
  const Seconds inputs = max(all - later, launching - sums.launching_weight);
  return max(Seconds{}, all - inputs);
}

GatherTime first_gather(const StageProgram& program) {
  GatherTime time;
  if (program.rule.forward_gather == Frequency::kNever) {
    return time;
  }
  for (const LayerRun& run : program.runs) {
    const Seconds gather = duration_of(program.tasks.layers[run.layer].gather);
    time.first = time.first > Seconds{} ? time.first : gather;
    time.all += static_cast<double>(run.count) * gather;
  }
  if (!overlaps_gathers(program)) {
    time.first = time.all;
  }
  return time;
}

PassTime forward_pass(const StageProgram& program, const PassPlace& place,
                      std::vector<StreamSpan>* record) {
  return Pass(program, place, record).forward();
}

PassTime backward_pass(const StageProgram& program, const PassPlace& place,
                       std::vector<StreamSpan>* record) {
  return Pass(program, place, record).backward();
}

}  // namespace stepcast
