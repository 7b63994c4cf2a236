// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/step_parts.hpp"

#include "catch.hpp"

namespace stepcast::step_parts_test {
namespace {

constexpr std::size_t slot(StepCategory category) { return static_cast<std::size_t>(category); }

TEST_CASE("Parts of a traced step tell work from what waits and from what is idle", "[unit]") {
  MeasuredStep step;
  step.summary.device_time[slot(StepCategory::kGemm)] = Seconds(5.0);
  step.summary.device_time[slot(StepCategory::kAllGather)] = Seconds(3.0);
  step.summary.waiting[slot(StepCategory::kAllGather)] = Seconds(2.0);
  step.summary.idle = Seconds(0.5);
  step.exposed_waiting = Seconds(1.5);
  const StepParts parts = parts_of(step);
  CHECK(parts[slot(StepCategory::kGemm)] == Seconds(5.0));
  CHECK(parts[slot(StepCategory::kAllGather)] == Seconds(1.0));
  CHECK(parts[kWaitingPart] == Seconds(1.5));
  CHECK(parts[kIdlePart] == Seconds(0.5));
}

TEST_CASE("Parts of a projected step wait for nobody", "[unit]") {
  PredictedStep step;
  step.device_time[slot(StepCategory::kGemm)] = Seconds(5.0);
  step.idle = Seconds(0.5);
  const StepParts parts = parts_of(step);
  CHECK(parts[slot(StepCategory::kGemm)] == Seconds(5.0));
  CHECK(parts[kWaitingPart] == Seconds(0.0));
  CHECK(parts[kIdlePart] == Seconds(0.5));
}

TEST_CASE("Each part has a name of its own", "[unit]") {
  CHECK(name_of_part(slot(StepCategory::kExpertRows)) == "expert_rows");
  CHECK(name_of_part(kWaitingPart) == "waiting");
  CHECK(name_of_part(kIdlePart) == "idle");
}

}  // namespace
}  // namespace stepcast::step_parts_test
