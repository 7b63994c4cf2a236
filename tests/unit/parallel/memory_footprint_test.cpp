// SPDX-License-Identifier: Apache-2.0
#include "stepcast/parallel/memory_footprint.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/parallel/activation_inventory.hpp"

namespace stepcast {
namespace {

using test::contains_text;
using test::nearly;
using test::Sample;

// Bytes a parameter under ZeRO stage `zero` on `replicas` ranks, with the paper's 2 + 2 + 12.
double bytes_a_parameter(std::int64_t zero, std::int64_t replicas, bool expert = false) {
  ParallelPlan plan;
  plan.dp = replicas;
  plan.edp = replicas;
  plan.zero = zero;
  plan.fsdp = zero == 3 ? replicas : 1;
  SoftwareSpec software;
  software.states.gradient = Bytes(2);
  software.fsdp_parameters_fp32 = false;
  const LocalParameters parameters = expert ? LocalParameters{0.0, 1e9} : LocalParameters{1e9, 0.0};
  const StateMemory memory = state_memory(parameters, plan, software);
  return (memory.parameters + memory.gradients + memory.optimizer).value() / 1e9;
}

// Rajbhandari et al., arXiv 1910.02054, figure 1: 2 bytes of parameters, 2 of gradients, K = 12.
TEST_CASE("bytes a parameter follow the ZeRO table", "[case]") {
  for (const std::int64_t ranks : {1, 2, 8, 64, 1024}) {
    const auto n = static_cast<double>(ranks);
    CAPTURE(ranks);
    for (const bool expert : {false, true}) {
      CHECK(bytes_a_parameter(0, ranks, expert) == nearly(16.0));
      CHECK(bytes_a_parameter(1, ranks, expert) == nearly(4.0 + 12.0 / n));
      CHECK(bytes_a_parameter(2, ranks, expert) == nearly(2.0 + 14.0 / n));
      CHECK(bytes_a_parameter(3, ranks, expert) == nearly(16.0 / n));
    }
  }
}

TEST_CASE("a sharded fp32 parameter is its own master copy", "[unit]") {
  ParallelPlan plan;
  plan.dp = 8;
  plan.fsdp = 8;
  plan.zero = 3;
  const StateMemory memory = state_memory({8e9, 0.0}, plan, SoftwareSpec{});
  CHECK(memory.parameters == Bytes(4e9));  // 4 bytes / 8 ranks
  CHECK(memory.gradients == Bytes(4e9));
  CHECK(memory.optimizer == Bytes(8e9));  // two moments
}

TEST_CASE("hybrid sharding divides by the shard group only", "[unit]") {
  ParallelPlan plan;
  plan.dp = 64;
  plan.fsdp = 8;
  plan.zero = 3;
  SoftwareSpec software;
  software.fsdp_parameters_fp32 = false;
  CHECK(state_memory({8e9, 0.0}, plan, software).parameters == Bytes(2e9));
}

TEST_CASE("1F1B holds p - rank micro-batches", "[case]") {
  Sample sample = test::dense_sample();
  test::set_pipeline(sample, 4, 1);
  sample.plan.micro_batches = 8;
  const std::vector<StageMemory> stages = memory_by_stage(sample.context());
  REQUIRE(stages.size() == 4);
  const Bytes two_layers = 2.0 * saved_activations(sample.context(), {});
  for (std::size_t rank = 0; rank < 4; ++rank) {
    CHECK(stages[rank].in_flight == static_cast<double>(4 - rank));
  }
  CHECK(stages[0].activations == 4.0 * two_layers);
  CHECK(stages[1].activations == 3.0 * two_layers);
}

TEST_CASE("fewer micro-batches than ranks hold no more than there are", "[unit]") {
  Sample sample = test::dense_sample();
  test::set_pipeline(sample, 4, 1);
  sample.plan.micro_batches = 2;
  CHECK(memory_by_stage(sample.context())[0].in_flight == 2.0);
}

// Rank 0 of p with v chunks holds 2 (p - 1) + (v - 1) p + 1 chunks of 1/v each.
TEST_CASE("the interleaved schedule holds (2 (p-1) + (v-1) p + 1) / v micro-batches", "[case]") {
  Sample sample = test::dense_sample();
  test::set_pipeline(sample, 4, 2);
  sample.plan.micro_batches = 16;
  CHECK(memory_by_stage(sample.context())[0].in_flight == 11.0 / 2.0);
}

TEST_CASE("the embedding sits on the first rank and the loss on the last", "[unit]") {
  Sample sample = test::dense_sample();
  test::set_pipeline(sample, 4, 1);
  const std::vector<StageMemory> stages = memory_by_stage(sample.context());
  const double matrix = 32'000.0 * 1024.0;  // V H
  CHECK((stages[0].parameters - stages[1].parameters) == Bytes(2 * matrix));
  CHECK((stages[3].parameters - stages[1].parameters) == Bytes(2 * (matrix + 1024)));  // and a norm
}

TEST_CASE("full recomputation covers every layer, or the first of each stage", "[unit]") {
  RecomputeSpec recompute;
  CHECK(fully_recomputed_layers(recompute, 8) == 0);
  recompute.kind = RecomputeKind::kFull;
  CHECK(fully_recomputed_layers(recompute, 8) == 8);
  recompute.method = RecomputeMethod::kBlock;
  recompute.layers = 3;
  CHECK(fully_recomputed_layers(recompute, 8) == 3);
  CHECK(fully_recomputed_layers(recompute, 2) == 2);
}

TEST_CASE("more recomputation never needs more memory", "[property]") {
  Sample sample = test::dense_sample();
  test::set_pipeline(sample, 2, 1);
  const auto activations = [&](RecomputeKind kind) {
    sample.training.recompute.kind = kind;
    return memory_by_stage(sample.context())[0].activations;
  };
  CHECK(activations(RecomputeKind::kSelective) < activations(RecomputeKind::kNone));
  CHECK(activations(RecomputeKind::kFull) < activations(RecomputeKind::kSelective));
}

TEST_CASE("more data-parallel ranks never raise the memory of a rank", "[property]") {
  for (std::int64_t zero = 0; zero <= 3; ++zero) {
    double before = 1e300;
    for (std::int64_t ranks = 1; ranks <= 64; ranks *= 2) {
      const double now = bytes_a_parameter(zero, ranks);
      CAPTURE(zero, ranks);
      CHECK(now <= before);
      before = now;
    }
  }
}

TEST_CASE("a rank that does not fit says what it needs and what there is", "[unit]") {
  DeviceSpec device;
  device.name = "small";
  device.hbm.capacity = Bytes(80.0 * 1024 * 1024 * 1024);
  StageMemory fits;
  fits.parameters = device.hbm.capacity - kFrameworkReserve;
  StageMemory over = fits;
  over.rank = 3;
  over.activations = Bytes(1);
  const std::vector<std::string> reasons = memory_reasons({fits, over}, device);
  REQUIRE(reasons.size() == 1);
  CHECK_THAT(reasons[0], contains_text("pipeline rank 3 needs 78.00 GiB") &&
                             contains_text("small has 80.00 GiB"));
}

TEST_CASE("split backwards hold activations until the gradient of the weights", "[unit]") {
  Sample sample = test::dense_sample();
  test::set_pipeline(sample, 4, 1);
  sample.plan.micro_batches = 8;
  sample.plan.schedule = Schedule::kZbH1;
  for (const StageMemory& stage : memory_by_stage(sample.context())) {
    CHECK(stage.in_flight == 4.0);  // p on every rank; 1F1B has 4, 3, 2, 1
  }
  sample.plan.schedule = Schedule::kDualPipe;
  CHECK(memory_by_stage(sample.context())[0].in_flight == 5.0);  // p + 1
}

}  // namespace
}  // namespace stepcast
