// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/pass_timeline.hpp"

#include <random>

#include "catch.hpp"

namespace stepcast::pass_timeline_test {
namespace {

using test::nearly;
using enum Frequency;

constexpr TrafficRule kReshards{kEveryMicroBatch, kEveryMicroBatch, 1, kEveryMicroBatch};
constexpr TrafficRule kOnce{kOnceAStep, kNever, 0, kOnceAStep};
constexpr PassPlace kFirst{.first = true};
constexpr PassPlace kLast{.last = true};
constexpr PassPlace kBetween{};

// `seconds` of computation in equal kernels.
TaskList computation(double seconds, int kernels = 1) {
  StreamTask task;
  task.duration = Seconds(seconds / kernels);
  task.contended = task.duration;
  return {static_cast<std::size_t>(kernels), task};
}

TaskList communication(double seconds) {
  StreamTask task;
  task.duration = Seconds(seconds);
  task.contended = task.duration;
  task.axis = Axis::kData;
  task.fabric = Fabric::kScaleUp;
  return {task};
}

// A stage of layers that a test fills in; a layer is 0 s long until then.
struct Stage {
  mutable StepTasks tasks;  // their sums follow from the rest
  std::vector<LayerRun> runs;
  TrafficRule rule = kReshards;
  SoftwareSpec software;

  LayerTasks& add(std::int64_t count, bool recomputed = false) {
    runs.push_back({tasks.layers.size(), count, recomputed});
    return tasks.layers.emplace_back();
  }
  [[nodiscard]] StageProgram program() const {
    tasks.sums.clear();
    for (const LayerTasks& layer : tasks.layers) {
      tasks.sums.push_back(sums_of(layer));
    }
    return {tasks, runs, rule, software};
  }
  [[nodiscard]] PassTime forward(const PassPlace& place) const {
    return forward_pass(program(), place);
  }
  [[nodiscard]] PassTime backward(const PassPlace& place) const {
    return backward_pass(program(), place);
  }
};

// `layers` of `compute` in one kernel each way, gathered in `gather` and reduced in `reduce`.
Stage layers_of(std::int64_t layers, double compute, double gather, double reduce,
                int kernels = 1) {
  Stage stage;
  LayerTasks& layer = stage.add(layers);
  layer.forward = computation(compute, kernels);
  layer.backward = computation(compute, kernels);
  layer.gather = communication(gather);
  layer.reduce = communication(reduce);
  return stage;
}

double data(const TimeBreakdown& time) { return time.exposed[slot(Axis::kData)].value(); }

// --- gathers ----------------------------------------------------------------------------------

// The first forward begins when the first layer is gathered: first_gather says when.
TEST_CASE("a forward hides gathers that are shorter than its layers", "[case]") {
  for (const std::int64_t layers : {1, 2, 3, 40}) {
    CAPTURE(layers);
    const auto n = static_cast<double>(layers);
    const Stage stage = layers_of(layers, 4, 3, 0);
    const PassTime time = stage.forward(kFirst);
    CHECK(time.duration().value() == nearly(4.0 * n));  // g + L c with the first gather
    CHECK(time.spent.compute.value() == nearly(4.0 * n));
    CHECK(data(time.spent) == 0.0);
    CHECK(data(time.hidden) == Approx(3.0 * (n - 1.0)).margin(1e-12));
    CHECK(first_gather(stage.program()).first == Seconds(3));
    CHECK(first_gather(stage.program()).all.value() == nearly(3.0 * n));
  }
}

TEST_CASE("a forward whose gathers are longer lasts as long as they do", "[case]") {
  for (const std::int64_t layers : {1, 2, 3, 40}) {
    CAPTURE(layers);
    const auto n = static_cast<double>(layers);
    const PassTime time = layers_of(layers, 4, 5, 0).forward(kFirst);
    CHECK(time.duration().value() == nearly(5.0 * (n - 1.0) + 4.0));  // L g + c with the first
    CHECK(data(time.spent) == Approx(n - 1.0).margin(1e-12));
    CHECK(data(time.hidden) == Approx(4.0 * (n - 1.0)).margin(1e-12));
  }
}

// Kernels of 1 s; two gathers of 1.5 s fit beside a layer of 4 s.
TEST_CASE("a forward between others starts with parameters that are there", "[case]") {
  const PassTime time = layers_of(20, 4, 1.5, 0, 4).forward(kBetween);
  CHECK(time.duration().value() == nearly(80.0));
  CHECK(data(time.spent) == 0.0);
  CHECK(data(time.hidden) == nearly(30.0));
}

TEST_CASE("copies run before and after a gather on streams of their own", "[case]") {
  Stage stage = layers_of(10, 4, 2, 0, 8);  // kernels of 0.5: the gather starts after the copy
  LayerTasks& layer = stage.tasks.layers[0];
  TaskList gather = communication(0.5);  // of the shard, without the fabric
  gather[0].fabric = Fabric::kNone;
  gather.push_back(layer.gather[0]);
  layer.gather = gather;
  layer.copy_out = computation(0.25);
  const PassTime time = stage.forward(kFirst);
  CHECK(time.spent.compute.value() == nearly(10 * 4.25));
  CHECK(time.duration() == time.spent.compute);
  CHECK(first_gather(stage.program()).first == Seconds(2.5));
}

TEST_CASE("without resharding parameters are gathered in the first forward alone", "[case]") {
  Stage stage = layers_of(10, 4, 3, 2);
  stage.rule = kOnce;
  CHECK(data(stage.forward(kFirst).hidden) == nearly(27.0));
  CHECK(stage.forward(kBetween).duration().value() == nearly(40.0));
  CHECK(data(stage.forward(kBetween).hidden) == 0.0);
  CHECK(stage.backward(kBetween).duration().value() == nearly(40.0));
  CHECK(data(stage.backward(kBetween).hidden) == 0.0);
  CHECK(stage.backward(kLast).duration().value() == nearly(40.0));
  CHECK(stage.backward(kLast).backlog.value() == nearly(2.0));
}

TEST_CASE("the root stays gathered from forward to backward", "[case]") {
  Stage stage;
  LayerTasks& root = stage.add(1);
  root.gather = communication(6);
  root.stays_gathered = true;
  LayerTasks& layer = stage.add(10);
  layer.forward = computation(4);
  layer.backward = computation(8);
  layer.gather = communication(3);
  CHECK(first_gather(stage.program()).first == Seconds(6));
  CHECK(first_gather(stage.program()).all.value() == nearly(36.0));
  CHECK(stage.forward(kFirst).duration().value() == nearly(3.0 + 40.0));
  // Backward gathers its first layer in view, the others beside, the root not at all.
  const PassTime backward = stage.backward(kBetween);
  CHECK(backward.duration().value() == nearly(3.0 + 80.0));
  CHECK(data(backward.hidden) == nearly(27.0));
  stage.tasks.layers[0].stays_gathered = false;
  // As any other layer the root would be gathered beside the last layer.
  CHECK(data(stage.backward(kBetween).hidden) == nearly(33.0));
}

TEST_CASE("recomputation inside the wrapper gathers twice before backward", "[case]") {
  Stage stage = layers_of(10, 8, 1, 0, 8);
  CHECK(stage.backward(kBetween).duration().value() == nearly(1.0 + 80.0));
  stage.rule.backward_gathers = 2;
  const PassTime twice = stage.backward(kBetween);
  CHECK(twice.duration().value() == nearly(2.0 + 80.0));
  CHECK(data(twice.hidden) == nearly(18.0));
}

// --- reductions -------------------------------------------------------------------------------

Stage reduces(double reduce) {
  Stage stage = layers_of(10, 4, 0, reduce);
  stage.tasks.layers[0].gather.clear();
  return stage;
}

TEST_CASE("a backward leaves its last reduction to what follows", "[case]") {
  const PassTime last = reduces(3).backward(kLast);
  CHECK(last.duration().value() == nearly(40.0));  // L c + r with what is left
  CHECK(last.backlog.value() == nearly(3.0));
  CHECK(data(last.spent) == 0.0);
  CHECK(data(last.hidden) == nearly(30.0));
  CHECK(reduces(3).backward(kBetween).duration().value() == nearly(40.0));
}

TEST_CASE("a reduction starts when the buffer of the one before is free", "[case]") {
  Stage stage = reduces(5);
  stage.tasks.layers[0].before_reduce = computation(0.5);
  // The first layer and its copy, then one reduction after the other, the last one left.
  const PassTime time = stage.backward(kLast);
  CHECK(time.duration().value() == nearly(4.5 + 45.0));
  CHECK(time.spent.compute.value() == nearly(45.0));
  CHECK(time.backlog.value() == nearly(5.0));
}

TEST_CASE("replicas reduce their shards once, in the last backward", "[case]") {
  Stage stage = layers_of(10, 4, 0, 1, 4);
  stage.tasks.layers[0].gather.clear();
  stage.tasks.layers[0].replicas = communication(2);
  CHECK(data(stage.backward(kBetween).spent) == 0.0);
  const PassTime last = stage.backward(kLast);
  CHECK(last.duration().value() == nearly(40.0));
  CHECK(last.backlog.value() == nearly(3.0));
  CHECK(data(last.hidden) == nearly(30.0));
}

// --- ZeRO 1 -----------------------------------------------------------------------------------

TEST_CASE("gathers and reductions of a step are hidden only where the software does it", "[case]") {
  Stage stage = layers_of(10, 4, 3, 2);
  stage.rule = kOnce;
  CHECK(first_gather(stage.program()).first == Seconds(3));
  CHECK(data(stage.forward(kFirst).hidden) == nearly(27.0));
  CHECK(stage.backward(kLast).backlog.value() == nearly(2.0));
  stage.software.overlap_param_gather = false;
  CHECK(first_gather(stage.program()).first.value() == nearly(30.0));
  CHECK(data(stage.forward(kFirst).hidden) == 0.0);
  stage.rule.reduces_beside_backward = false;
  CHECK(stage.backward(kLast).backlog.value() == nearly(20.0));
  for (const PassPlace& place : {kFirst, kBetween, kLast}) {
    CHECK(stage.forward(place).duration().value() == nearly(40.0));
    CHECK(stage.backward(place).duration().value() == nearly(40.0));
  }
  stage.rule = {};
  CHECK(first_gather(stage.program()).all == Seconds{});
}

// --- computation and the host -----------------------------------------------------------------

TEST_CASE("full recomputation runs a part of forward before backward", "[case]") {
  Stage stage;
  stage.rule = {};
  for (const bool recomputed : {true, false}) {
    LayerTasks& layer = stage.add(3, recomputed);
    layer.forward = computation(4);
    layer.full_recompute = computation(3);
    layer.backward = computation(7);
  }
  CHECK(stage.forward(kBetween).duration() == Seconds(24));
  CHECK(stage.backward(kBetween).duration() == Seconds(3 * 10 + 3 * 7));
}

TEST_CASE("weight gradients are a part of backward", "[unit]") {
  Stage stage;
  stage.rule = {};
  LayerTasks& layer = stage.add(5, true);
  layer.forward = computation(4);
  layer.full_recompute = computation(4);
  layer.backward = computation(6, 2);
  layer.backward[1].weight_gradient = true;
  layer.backward[1].energy = Joules(2);
  CHECK(stage.forward(kBetween).weight == Seconds{});
  CHECK(stage.backward(kBetween).weight == Seconds(15));
  CHECK(stage.backward(kBetween).energy == Joules(10));
}

TEST_CASE("gradients of weights wait for their kernels or for their launches", "[unit]") {
  TaskSums sums;
  sums.weight = Seconds(4);
  sums.launching_weight = Seconds(6);
  TimeBreakdown spent;
  spent.compute = Seconds(10);
  CHECK(weight_part(spent, sums, Seconds(8)) == Seconds(4));
  // Reductions that are waited for follow gradients of weights.
  spent.exposed[slot(Axis::kData)] = Seconds(3);
  CHECK(weight_part(spent, sums, Seconds(8)) == Seconds(7));
  spent.exposed[slot(Axis::kTensor)] = Seconds(5);
  CHECK(weight_part(spent, sums, Seconds(8)) == Seconds(7));
  spent.exposed = {};
  // The host takes 30 for a pass of 10; 24 of them launch gradients of inputs, whose kernels are 6
  // or, at half the clock, 12.
  spent.host = Seconds(20);
  CHECK(weight_part(spent, sums, Seconds(30)) == Seconds(6));
  spent.compute = Seconds(20);
  spent.host = Seconds(10);
  sums.weight = Seconds(8);
  CHECK(weight_part(spent, sums, Seconds(30)) == Seconds(6));
}

TEST_CASE("reductions go on while a host that is behind launches", "[unit]") {
  // Layers of 1 whose reductions take 3, the first of them from 1 on: of 30, 9 are done at 10. The
  // last layer's own 3 are left wherever the host takes its time.
  Stage stage = layers_of(10, 1, 0, 3);
  stage.rule = {Frequency::kNever, Frequency::kNever, 0, Frequency::kOnceAStep};
  CHECK(stage.backward(kLast).backlog.value() == nearly(21.0));
  stage.tasks.layers[0].backward[0].host = Seconds(2);
  const PassTime behind = stage.backward(kLast);
  CHECK(behind.duration() == Seconds(20));
  CHECK(behind.backlog.value() == nearly(11.0));
  stage.tasks.layers[0].backward[0].host = Seconds(100);
  CHECK(stage.backward(kLast).backlog == Seconds(3));
}

TEST_CASE("passes that repeat are no faster than the host launches them", "[unit]") {
  Stage stage = layers_of(10, 4, 0, 0);
  stage.rule = {};
  stage.tasks.layers[0].forward[0].host = Seconds(5);
  const PassTime ahead = stage.forward(kBetween);
  CHECK(ahead.duration().value() == nearly(50.0));
  CHECK(ahead.spent.host.value() == nearly(10.0));
  const PassTime level = stage.forward({.first = true, .host_lead = {}});
  CHECK(level.duration().value() == nearly(54.0));  // the last kernel after its launch at 50
  CHECK(level.host_lead.value() == nearly(4.0));
  stage.tasks.layers[0].forward[0].host = Seconds(3);
  CHECK(stage.forward(kBetween).duration().value() == nearly(40.0));
}

// --- layers that repeat -----------------------------------------------------------------------

class RandomStage {
 public:
  explicit RandomStage(std::uint64_t seed) : random_(seed) {}

  Stage stage() {
    Stage stage;
    stage.rule = std::array{kReshards, kOnce,
                            TrafficRule{kEveryMicroBatch, kEveryMicroBatch, 2, kEveryMicroBatch},
                            TrafficRule{kOnceAStep, kNever, 0, kEveryMicroBatch}}[random_() % 4];
    stage.rule.reduces_beside_backward = chance(0.8);
    stage.software.overlap_param_gather = chance(0.8);
    fill(stage.add(1));
    stage.tasks.layers[0].stays_gathered = chance(0.5);
    fill(stage.add(static_cast<std::int64_t>(2 + random_() % 30), chance(0.5)));
    fill(stage.add(static_cast<std::int64_t>(1 + random_() % 20)));
    stage.runs.push_back({1, 12, false});
    fill(stage.add(1));
    return stage;
  }
  Seconds lead() { return Seconds(chance(0.5) ? 1e6 : 20.0 * unit_(random_)); }

 private:
  [[nodiscard]] bool chance(double share) { return unit_(random_) < share; }

  void fill(LayerTasks& layer) {
    layer.forward = program();
    layer.full_recompute = layer.forward;
    layer.backward = program();
    layer.gather = traffic(2);
    if (chance(0.5)) {
      layer.copy_out = kernels(1);
      layer.before_reduce = kernels(1);
    }
    layer.reduce = traffic(1);
    layer.replicas = chance(0.3) ? traffic(1) : TaskList{};
  }
  TaskList kernels(std::size_t count) {
    TaskList tasks;
    for (std::size_t i = 0; i < count; ++i) {
      StreamTask task;
      task.duration = Seconds(0.1 + unit_(random_));
      task.contended = (1.0 + 0.4 * unit_(random_)) * task.duration;
      task.host = Seconds(chance(0.3) ? 1.2 * unit_(random_) : 0.1);
      task.energy = Joules(unit_(random_));
      tasks.push_back(task);
    }
    return tasks;
  }
  TaskList traffic(std::size_t most) {
    TaskList tasks;
    for (std::size_t i = random_() % (most + 1); i > 0; --i) {
      tasks.push_back(communication(8.0 * unit_(random_) * unit_(random_))[0]);
      const double slowdown = 1.0 + unit_(random_);
      tasks.back().stretch = {slowdown, slowdown};
      tasks.back().host = Seconds(0.1);
    }
    return tasks;
  }
  TaskList program() {
    TaskList tasks = kernels(1 + random_() % 6);
    for (StreamTask& task : tasks) {
      if (chance(0.2)) {
        task.axis = chance(0.5) ? Axis::kTensor : Axis::kExpert;
        task.fabric = chance(0.5) ? Fabric::kScaleUp : Fabric::kScaleOut;
        task.energy = Joules{};
      }
    }
    return tasks;
  }

  std::mt19937_64 random_;
  std::uniform_real_distribution<double> unit_{0.0, 1.0};
};

bool close(double a, double b) { return Approx(b).epsilon(1e-9).margin(1e-9) == a; }

bool equal(const TimeBreakdown& a, const TimeBreakdown& b) {
  bool equal = close(a.compute.value(), b.compute.value()) &&
               close(a.contention.value(), b.contention.value()) &&
               close(a.host.value(), b.host.value());
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    equal = equal && close(a.exposed[axis].value(), b.exposed[axis].value());
  }
  return equal;
}

bool equal(const PassTime& a, const PassTime& b) {
  return equal(a.spent, b.spent) && equal(a.hidden, b.hidden) &&
         close(a.energy.value(), b.energy.value()) && close(a.weight.value(), b.weight.value()) &&
         close(a.host_lead.value(), b.host_lead.value()) &&
         close(a.backlog.value(), b.backlog.value());
}

// A recorder sees every layer, so with one nothing is left out.
TEST_CASE("layers that repeat take what they take when each of them runs", "[property]") {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    RandomStage random(seed);
    const Stage stage = random.stage();
    for (PassPlace place : {kFirst, kBetween, kLast}) {
      place.host_lead = random.lead();
      std::vector<StreamSpan> spans;
      CAPTURE(seed, place.first, place.last, place.host_lead);
      REQUIRE(equal(stage.forward(place), forward_pass(stage.program(), place, &spans)));
      REQUIRE(equal(stage.backward(place), backward_pass(stage.program(), place, &spans)));
    }
  }
}

}  // namespace
}  // namespace stepcast::pass_timeline_test
