// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/paired_passes.hpp"

#include <random>
#include <set>

#include "catch.hpp"

namespace stepcast::paired_passes_test {
namespace {

using test::nearly;

StreamTask kernel(double seconds) {
  StreamTask task;
  task.duration = Seconds(seconds);
  task.contended = task.duration;
  return task;
}

StreamTask exchange(double seconds) {
  StreamTask task = kernel(seconds);
  task.axis = Axis::kExpert;
  task.fabric = Fabric::kScaleUp;
  return task;
}

// Stages whose parameters stay: nothing is gathered for each micro-batch.
struct Stage {
  StepTasks tasks;
  std::vector<LayerRun> runs;
  TrafficRule rule{Frequency::kNever, Frequency::kNever, 0, Frequency::kNever};
  SoftwareSpec software;

  void add(std::int64_t count, TaskList forward, TaskList backward) {
    runs.push_back({tasks.layers.size(), count, false});
    LayerTasks& layer = tasks.layers.emplace_back();
    layer.forward = std::move(forward);
    layer.backward = std::move(backward);
    tasks.sums.push_back(sums_of(layer));
  }
  [[nodiscard]] StageProgram program() const { return {tasks, runs, rule, software}; }
  [[nodiscard]] PassTime forward() const { return forward_pass(program(), {}); }
  [[nodiscard]] PassTime backward() const { return backward_pass(program(), {}); }
  [[nodiscard]] std::optional<TimeBreakdown> saved() const {
    return saved_by_pair(program(), forward(), program(), backward());
  }
};

Seconds exchanged(const PassTime& pass) { return pass.spent.exposed[slot(Axis::kExpert)]; }

// 4 s of kernels and 3 s of exchange each way: the forward's exchange runs beside the backward's
// kernel, and the backward's is the one that is waited for, 11 s instead of 14.
TEST_CASE("a pair hides the exchange of one pass behind the computation of the other", "[case]") {
  for (const std::int64_t layers : {1, 2, 7}) {
    CAPTURE(layers);
    Stage stage;
    stage.add(layers, {kernel(4), exchange(3)}, {kernel(4), exchange(3)});
    const std::optional<TimeBreakdown> saved = stage.saved();
    REQUIRE(saved);
    const auto n = static_cast<double>(layers);
    CHECK(saved->total().value() == nearly(3.0 * n));
    CHECK(saved->exposed[slot(Axis::kExpert)].value() == nearly(3.0 * n));
    CHECK(saved->compute == Seconds{});
  }
}

TEST_CASE("a pair without exchanges saves nothing", "[case]") {
  Stage stage;
  stage.add(3, {kernel(4)}, {kernel(8)});
  const std::optional<TimeBreakdown> saved = stage.saved();
  REQUIRE(saved);
  CHECK(saved->total().value() == Approx(0.0).margin(1e-12));
}

// The first forward runs beside the last layer's backward: layers of 1 s of kernels hide no more
// than that of the other's exchange of 3 s.
TEST_CASE("a pair takes the layer at the mirrored place", "[case]") {
  Stage stage;
  stage.add(1, {kernel(1)}, {kernel(1)});
  stage.add(1, {kernel(1), exchange(3)}, {exchange(3), kernel(1)});
  const std::optional<TimeBreakdown> saved = stage.saved();
  REQUIRE(saved);
  CHECK(saved->total().value() == nearly(2.0));
}

// Two layers forward, one backward: 1 s of kernels hides 1 s of the exchange, and the second
// layer's 3 s of exchange has nothing beside it.
TEST_CASE("what the longer pass of two stages has left runs by itself", "[case]") {
  Stage stage;
  stage.add(2, {kernel(1), exchange(3)}, {kernel(1)});
  Stage other;
  other.tasks = stage.tasks;
  other.runs = {{0, 1, false}};
  const std::optional<TimeBreakdown> saved =
      saved_by_pair(stage.program(), stage.forward(), other.program(), other.backward());
  REQUIRE(saved);
  CHECK(saved->total().value() == nearly(1.0));
}

TEST_CASE("DualPipe pairs each stage with its mirror alone", "[case]") {
  ParallelPlan plan;
  plan.pp = 4;
  plan.schedule = Schedule::kDualPipe;
  plan.micro_batches = 8;
  plan.stages.resize(4);
  std::set<std::pair<std::size_t, std::size_t>> pairs;
  const auto orders = pipeline_orders(plan.schedule, pipeline_shape(plan));
  for (std::size_t rank = 0; rank < orders.size(); ++rank) {
    const std::vector<RankStage> stages = stages_of_rank(plan, static_cast<std::int64_t>(rank));
    for (const PipelineTask& task : orders[rank]) {
      if (task.kind == TaskKind::kOverlapped) {
        pairs.emplace(stages[static_cast<std::size_t>(task.chunk)].stage,
                      stages[static_cast<std::size_t>(task.backward_chunk)].stage);
      }
    }
  }
  CHECK(pairs == std::set<std::pair<std::size_t, std::size_t>>{{0, 3}, {1, 2}, {2, 1}, {3, 0}});
}

TEST_CASE("nothing overlaps in pairs where parameters are gathered for every micro-batch",
          "[case]") {
  Stage stage;
  stage.add(2, {kernel(4), exchange(3)}, {kernel(4), exchange(3)});
  stage.rule.forward_gather = Frequency::kEveryMicroBatch;
  CHECK_FALSE(stage.saved());
}

TEST_CASE("side by side is never slower, and saves no more than the exchanges that it hides",
          "[property]") {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> seconds(0.1, 5.0);
  std::uniform_int_distribution<int> many(1, 6);
  const auto program = [&] {
    TaskList tasks;
    for (int i = many(random); i > 0; --i) {
      tasks.push_back(kernel(seconds(random)));
      StreamTask sent = exchange(seconds(random));
      sent.stretch = {1.2, 1.2};
      tasks.push_back(sent);
      tasks.back().duration = tasks.back().contended;
    }
    tasks.push_back(kernel(seconds(random)));
    tasks.back().contended = 1.3 * tasks.back().duration;
    return tasks;
  };
  for (int trial = 0; trial < 200; ++trial) {
    CAPTURE(trial);
    Stage stage;
    for (int layer = many(random); layer > 0; --layer) {
      stage.add(many(random), program(), program());
    }
    const PassTime forward = stage.forward();
    const PassTime backward = stage.backward();
    const std::optional<TimeBreakdown> saved =
        saved_by_pair(stage.program(), forward, stage.program(), backward);
    REQUIRE(saved);
    const double both = (exchanged(forward) + exchanged(backward)).value();
    CHECK(saved->total().value() >= 0.0);
    CHECK(saved->total().value() <= both * (1.0 + 1e-12));
    CHECK(saved->exposed[slot(Axis::kExpert)].value() <= both * (1.0 + 1e-12));
    CHECK(saved->compute.value() == Approx(0.0).margin(1e-9));
  }
}

TEST_CASE("each backward that a forward follows is paired with it", "[case]") {
  using enum TaskKind;
  const RankOrder order = {{kForward, 0, 0},  {kForward, 1, 0},  {kBackward, 1, 0},
                           {kForward, 0, 1},  {kBackward, 0, 0}, {kForward, 1, 1},
                           {kBackward, 1, 1}, {kBackward, 0, 1}};
  const RankOrder expected = {{kForward, 0, 0},          {kForward, 1, 0},
                              {kOverlapped, 0, 1, 1, 0}, {kOverlapped, 1, 1, 0, 0},
                              {kBackward, 1, 1},         {kBackward, 0, 1}};
  CHECK(paired_order(order) == expected);
}

}  // namespace
}  // namespace stepcast::paired_passes_test
