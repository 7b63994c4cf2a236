// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/pipeline_transfer.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast {
namespace {

using test::nearly;

StreamTask exchange(double seconds, Fabric fabric) {
  StreamTask task;
  task.alone = Seconds(seconds);
  task.axis = Axis::kExpert;
  task.fabric = fabric;
  return task;
}

// One stage of 8 s, of which exchanges take 1 s each way, and a transfer of 2 s between nodes.
Seconds transfer_beside(Fabric exchanges) {
  StepWork work;
  work.stages.push_back({{0, 1, false}});
  StepTasks tasks;
  UnitTasks& unit = tasks.units.emplace_back();
  unit.forward = {exchange(1.0, exchanges)};
  unit.backward = unit.forward;
  tasks.transfer = Seconds(2.0);
  tasks.transfer_fabric = Fabric::kScaleOut;
  return shared_transfer(work, tasks, {Seconds(8.0)});
}

TEST_CASE("a transfer is slower while exchanges use the same network", "[unit]") {
  CHECK(transfer_beside(Fabric::kScaleOut).value() == nearly(2.0 * (1.0 + 2.0 / 8.0)));
  CHECK(transfer_beside(Fabric::kScaleUp) == Seconds(2.0));
}

TEST_CASE("a step without a pipeline transfers nothing", "[unit]") {
  CHECK(shared_transfer({}, {}, {}) == Seconds{});
}

}  // namespace
}  // namespace stepcast
