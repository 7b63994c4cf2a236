// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/operator_inventory.hpp"

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/schedule/data_parallel.hpp"
#include "stepcast/schedule/step_time.hpp"

namespace stepcast {
namespace {

using test::Sample;

std::int64_t count_of(const Sample& sample, std::int64_t rank, std::string_view name,
                      StepPass pass) {
  std::int64_t count = 0;
  for (const CountedOp& entry : operator_inventory(sample.context(), rank)) {
    count += entry.op.name == name && entry.pass == pass ? entry.count : 0;
  }
  return count;
}

// The sample has 8 layers and runs 8 micro-batches.
TEST_CASE("one GPU runs a layer's operators once a layer and micro-batch", "[unit]") {
  const Sample sample = test::dense_sample();
  CHECK(count_of(sample, 0, "attention.core", StepPass::kForward) == 64);
  CHECK(count_of(sample, 0, "attention.core", StepPass::kBackward) == 64);
  CHECK(count_of(sample, 0, "attention.core", StepPass::kRecompute) == 0);
  CHECK(count_of(sample, 0, "attention.o", StepPass::kBackward) == 128);  // dgrad and wgrad
  CHECK(count_of(sample, 0, "embedding", StepPass::kForward) == 8);
  CHECK(count_of(sample, 0, "head.output", StepPass::kForward) == 8);
  CHECK(count_of(sample, 0, "optimizer", StepPass::kOptimizer) == 1);
  CHECK(count_of(sample, 0, "pipeline.send", StepPass::kForward) == 0);
}

TEST_CASE("recomputation runs the layers that it names again", "[unit]") {
  Sample sample = test::dense_sample();
  RecomputeSpec& recompute = sample.training.recompute;
  recompute.kind = RecomputeKind::kFull;
  CHECK(count_of(sample, 0, "attention.core", StepPass::kRecompute) == 64);
  CHECK(count_of(sample, 0, "attention.o", StepPass::kRecompute) == 64);
  recompute.method = RecomputeMethod::kBlock;
  recompute.layers = 3;
  CHECK(count_of(sample, 0, "attention.core", StepPass::kRecompute) == 24);
  CHECK(count_of(sample, 0, "attention.core", StepPass::kForward) == 64);
  recompute.kind = RecomputeKind::kSelective;
  recompute.modules = {RecomputeModule::kCoreAttention};
  CHECK(count_of(sample, 0, "attention.core", StepPass::kRecompute) == 64);
  CHECK(count_of(sample, 0, "attention.o", StepPass::kRecompute) == 0);
}

TEST_CASE("a rank of an interleaved pipeline runs its chunks and sends between them", "[unit]") {
  Sample sample = test::dense_sample();
  test::set_pipeline(sample, 4, 2);  // one layer a stage: rank 0 holds stages 0 and 4
  for (const std::int64_t rank : {0, 1, 3}) {
    CAPTURE(rank);
    CHECK(count_of(sample, rank, "attention.core", StepPass::kForward) == 16);
    CHECK(count_of(sample, rank, "embedding", StepPass::kForward) == (rank == 0 ? 8 : 0));
    CHECK(count_of(sample, rank, "head.output", StepPass::kForward) == (rank == 3 ? 8 : 0));
    CHECK(count_of(sample, rank, "pipeline.send", StepPass::kForward) == (rank == 3 ? 8 : 16));
    CHECK(count_of(sample, rank, "pipeline.send", StepPass::kBackward) == (rank == 0 ? 8 : 16));
  }
}

TEST_CASE("equal operators of one name and pass are counted together", "[unit]") {
  Sample sample = test::dense_sample();
  sample.training.dtype = Dtype::kFp8;
  sample.software.fused_qkv = true;
  sample.software.fused_gate_up = true;
  // qkv, o and gate_up quantise tokens x hidden each: 1024 x 1024 here.
  const MemoryBound inputs{MemoryBoundKind::kQuantize, 1024, 1024};
  std::int64_t count = 0;
  const std::vector<CountedOp> inventory = operator_inventory(sample.context(), 0);
  for (const CountedOp& entry : inventory) {
    const Op wanted{"quantize", inputs};
    count += entry.op == wanted && entry.pass == StepPass::kForward ? entry.count : 0;
    const auto same = [&](const CountedOp& other) {
      return other.op == entry.op && other.pass == entry.pass;
    };
    CHECK(std::count_if(inventory.begin(), inventory.end(), same) == 1);
  }
  // The weight of o is hidden x hidden as well.
  CHECK(count == 4 * 64);
}

Sample mla_sample() {
  Sample sample = test::moe_sample();
  sample.model.attention.kind = AttentionKind::kMla;
  sample.model.attention.mla = {
      .q_lora_rank = 256, .kv_lora_rank = 128, .qk_nope_head_dim = 48, .qk_rope_head_dim = 16};
  sample.plan.dp = 8;
  sample.plan.ep = 4;
  sample.plan.edp = 2;
  return sample;
}

PassTime counted_time(const StepContext& context, std::int64_t rank) {
  PassTime sum;
  for (const CountedOp& entry : operator_inventory(context.expansion, rank)) {
    if (entry.op.name != "pipeline.send") {  // spans of the pipeline, no time of a pass
      sum += static_cast<double>(entry.count) * price({entry.op}, context);
    }
  }
  return sum;
}

PassTime rank_time(const StepContext& context, std::int64_t rank) {
  const ParallelPlan& plan = context.expansion.plan;
  const StepTime step = step_time(context);
  PassTime sum = price(step_collectives(context.expansion, rank), context);
  sum += price(optimizer_ops(context.expansion, rank), context);
  for (const HeldStage& held : stages_held(plan, rank)) {
    const StageTime& stage = step.stages[held.stage];
    sum += static_cast<double>(held.micro_batches) * stage.forward;
    sum += static_cast<double>(held.micro_batches) * stage.backward;
  }
  return sum;
}

TEST_CASE("counts times prices are the time of every rank of a pipeline", "[property]") {
  const auto recompute =
      GENERATE(RecomputeKind::kNone, RecomputeKind::kSelective, RecomputeKind::kFull);
  const auto [pp, vpp, schedule] =
      GENERATE(table<std::int64_t, std::int64_t, Schedule>({{1, 1, Schedule::kOneFOneB},
                                                            {4, 1, Schedule::kOneFOneB},
                                                            {2, 2, Schedule::kInterleaved},
                                                            {4, 2, Schedule::kInterleaved},
                                                            {4, 2, Schedule::kZbV},
                                                            {4, 1, Schedule::kDualPipe}}));
  const ClusterSpec cluster = cluster_of(test::shipped_gpu("h100_sxm"), 8);
  const CostModel cost = default_cost_model();
  for (Sample sample : {test::dense_sample(), test::moe_sample(), mla_sample()}) {
    sample.training.recompute.kind = recompute;
    test::set_pipeline(sample, pp, vpp);
    sample.plan.schedule = schedule;
    const ExpansionContext expansion = sample.context();
    const StepContext context{expansion, cluster, cost, Hertz(1.4e9)};
    for (std::int64_t rank = 0; rank < pp; ++rank) {
      CAPTURE(pp, vpp, rank);
      const PassTime counted = counted_time(context, rank);
      const PassTime timed = rank_time(context, rank);
      CHECK(counted.compute.value() == Approx(timed.compute.value()).epsilon(1e-9));
      for (std::size_t axis = 0; axis < kAxes; ++axis) {
        CHECK(counted.communication[axis].value() ==
              Approx(timed.communication[axis].value()).epsilon(1e-9));
      }
    }
  }
}

}  // namespace
}  // namespace stepcast
