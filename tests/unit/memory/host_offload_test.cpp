// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/layer/activation_inventory.hpp"
#include "stepcast/memory/memory_footprint.hpp"

namespace stepcast::host_offload_test {
namespace {

using test::nearly;
using test::Sample;

double parameters_of(const Sample& sample) {
  return StageBuilder().stage(sample.context(), 0).parameters.all().total();
}

StageBudget budget_of(const Sample& sample) {
  return stage_budget(sample.context(), StageBuilder().stage(sample.context(), 0));
}

// A parameter has a gradient of 4 bytes, a master copy of 4 and moments of 8.
struct Held {
  OffloadedStates states;
  double share;
  double optimizer;
  double gradient;
};

TEST_CASE("What an optimizer offload takes along decides what stays of a parameter", "[case]") {
  using enum OffloadedStates;
  Sample sample = test::dense_sample();
  const double parameters = parameters_of(sample);
  for (const Held& held : {Held{kMoments, 1.0, 4.0, 4.0}, Held{kMoments, 0.5, 8.0, 4.0},
                           Held{kOptimizer, 1.0, 0.0, 4.0}, Held{kOptimizer, 0.25, 9.0, 4.0},
                           Held{kAll, 1.0, 0.0, 0.0}, Held{kAll, 0.5, 6.0, 2.0}}) {
    CAPTURE(held.states, held.share);
    sample.training.optimizer.offload = OptimizerOffload{held.share, false, held.states};
    const StageMemory memory = memory_by_stage(sample.context()).front();
    CHECK(memory.optimizer.value() == nearly(held.optimizer * parameters));
    CHECK(memory.gradients.value() == nearly(held.gradient * parameters));
  }
}

// Without shards of them gradients wait for the last micro-batch on the device.
TEST_CASE("Gradients that no rank has a shard of do not leave at once", "[unit]") {
  Sample sample = test::dense_sample();
  sample.training.optimizer.offload = OptimizerOffload{1.0, false, OffloadedStates::kAll};
  sample.plan.dp = 4;
  for (const std::int64_t zero : {0, 1}) {
    sample.plan.zero = zero;
    CHECK(memory_by_stage(sample.context()).front().gradients.value() ==
          nearly(4.0 * parameters_of(sample)));
  }
  sample.plan.zero = 2;
  CHECK(memory_by_stage(sample.context()).front().gradients == Bytes{});
}

// A byte for each moment and an fp32 for 256 of them, beside a master copy of 4.
TEST_CASE("Moments of 8 bits take a byte and a 64th, and paged ones nothing", "[case]") {
  Sample sample = test::dense_sample();
  const double parameters = parameters_of(sample);
  sample.training.optimizer.rule = AdamWSpec{StateFormat::kBlock8, StateFormat::kBlock8};
  const auto held = [&] { return memory_by_stage(sample.context()).front().optimizer.value(); };
  CHECK(held() == nearly((4.0 + 2.0 * (1.0 + 4.0 / 256.0)) * parameters));
  sample.training.optimizer.paged = true;
  CHECK(held() == nearly(4.0 * parameters));
}

// 1,024 tokens of 1,024 values of 2 bytes are an input of 2 MiB; eight layers keep one each.
TEST_CASE("Checkpoints on the host leave two on their way", "[case]") {
  constexpr Bytes kInput{1024.0 * 1024.0 * 2.0};
  Sample sample = test::dense_sample();
  sample.training.recompute.kind = RecomputeKind::kFull;
  CHECK(budget_of(sample).kept == 8.0 * kInput);
  CHECK(budget_of(sample).travelling == Bytes{});
  sample.training.offload.activations = true;
  CHECK(budget_of(sample).kept == Bytes{});
  CHECK(budget_of(sample).travelling == 2.0 * kInput);
  sample.training.offload.activation_layers = 3;
  CHECK(budget_of(sample).kept == 5.0 * kInput);
}

TEST_CASE("Without recomputation every saved tensor goes to the host", "[unit]") {
  Sample sample = test::dense_sample();
  const Bytes layer = total(saved_tensors(sample.context(), {}));
  sample.training.offload.activations = true;
  CHECK(budget_of(sample).kept == Bytes{});
  CHECK(budget_of(sample).travelling.value() == nearly(2.0 * layer.value()));
  sample.training.offload.activation_layers = 6;
  CHECK(budget_of(sample).kept.value() == nearly(2.0 * layer.value()));
}

// Two layers of q, o (1,024 x 1,024), k, v (256 x 1,024), three of 4,096 x 1,024 and two norms.
TEST_CASE("Parameters on the host leave two layers of 16 bits", "[case]") {
  constexpr double kLayer = 2.0 * 1024 * 1024 + 2.0 * 256 * 1024 + 3.0 * 4096 * 1024 + 2.0 * 1024;
  Sample sample = test::dense_sample();
  sample.plan.zero = 3;
  sample.training.offload.parameters = true;
  CHECK(memory_by_stage(sample.context()).front().parameters == Bytes{});
  CHECK(budget_of(sample).gathered_layers == Bytes(2.0 * 2.0 * kLayer));
}

TEST_CASE("A segment that expands has no fragmentation", "[unit]") {
  Sample sample = test::dense_sample();
  sample.software.memory.expandable_segments = true;
  const StageMemory memory = memory_by_stage(sample.context()).front();
  CHECK(memory.reserved.value() == nearly(memory.total().value()));
}

TEST_CASE("Where layers are recomputed other holes stay in the allocator's blocks", "[unit]") {
  Sample sample = test::dense_sample();
  sample.software.memory.fragmentation = 0.05;
  sample.software.memory.fragmentation_recomputed = 0.2;
  const StageMemory kept = memory_by_stage(sample.context()).front();
  CHECK(kept.reserved.value() == nearly(1.05 * kept.total().value()));
  sample.training.recompute.kind = RecomputeKind::kFull;
  const StageMemory recomputed = memory_by_stage(sample.context()).front();
  CHECK(recomputed.reserved.value() == nearly(1.2 * recomputed.total().value()));
  CHECK(recomputed.in_use().value() == nearly((recomputed.reserved + recomputed.outside).value()));
}

}  // namespace
}  // namespace stepcast::host_offload_test
