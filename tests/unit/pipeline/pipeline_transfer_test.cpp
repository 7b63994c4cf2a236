// SPDX-License-Identifier: Apache-2.0
#include "stepcast/pipeline/pipeline_transfer.hpp"

#include "catch.hpp"
#include "stepcast/schedule/stage_time.hpp"

namespace stepcast::pipeline_transfer_test {
namespace {

using test::nearly;

StreamTask exchange(double seconds, Fabric fabric) {
  StreamTask task;
  task.duration = Seconds(seconds);
  task.axis = Axis::kExpert;
  task.fabric = fabric;
  return task;
}

// One stage of 8 s, of which exchanges take 1 s each way, and a transfer of 2 s between nodes.
Seconds transfer_beside(Fabric exchanges) {
  StepTasks tasks;
  LayerTasks& layer = tasks.layers.emplace_back();
  layer.forward = {exchange(1.0, exchanges)};
  layer.backward = layer.forward;
  const std::vector<LayerRun> runs = {{0, 1, false}};
  const FabricTimes times = fabric_times({tasks, runs, {}, {}});
  const Seconds between_nodes = times[static_cast<std::size_t>(Fabric::kScaleOut)];
  return shared_transfer(Seconds(2.0), {{Seconds(8.0), between_nodes}});
}

TEST_CASE("a transfer is slower while exchanges use the same network", "[unit]") {
  CHECK(transfer_beside(Fabric::kScaleOut).value() == nearly(2.0 * (1.0 + 2.0 / 8.0)));
  CHECK(transfer_beside(Fabric::kScaleUp) == Seconds(2.0));
}

TEST_CASE("a transfer beside two stages is as slow as their mean says", "[unit]") {
  // Half of one stage's time and none of the other's: a quarter.
  const Seconds transfer =
      shared_transfer(Seconds(2.0), {{Seconds(8.0), Seconds(4.0)}, {Seconds(8.0), Seconds(0.0)}});
  CHECK(transfer.value() == nearly(2.5));
}

TEST_CASE("a step without a pipeline transfers nothing", "[unit]") {
  CHECK(shared_transfer({}, {}) == Seconds{});
}

}  // namespace
}  // namespace stepcast::pipeline_transfer_test
