// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/operator_inventory.hpp"

#include <numeric>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/schedule/step_time.hpp"

namespace stepcast::operator_inventory_test {
namespace {

using test::Sample;

std::int64_t count_of(const Sample& sample, std::int64_t rank, OpId id, StepPass pass) {
  std::int64_t count = 0;
  for (const CountedOp& entry : operator_inventory(sample.context(), rank)) {
    count += entry.op.id == id && entry.pass == pass ? entry.count : 0;
  }
  return count;
}

// The sample has 8 layers and runs 8 micro-batches.
TEST_CASE("one GPU runs a layer's operators once a layer and micro-batch", "[unit]") {
  const Sample sample = test::dense_sample();
  CHECK(count_of(sample, 0, OpId::kAttentionCore, StepPass::kForward) == 64);
  CHECK(count_of(sample, 0, OpId::kAttentionCore, StepPass::kBackward) == 64);
  CHECK(count_of(sample, 0, OpId::kAttentionCore, StepPass::kRecompute) == 0);
  CHECK(count_of(sample, 0, OpId::kAttentionO, StepPass::kBackward) == 128);  // dgrad and wgrad
  CHECK(count_of(sample, 0, OpId::kEmbedding, StepPass::kForward) == 8);
  CHECK(count_of(sample, 0, OpId::kHeadOutput, StepPass::kForward) == 8);
  CHECK(count_of(sample, 0, OpId::kOptimizer, StepPass::kOptimizer) == 1);
  CHECK(count_of(sample, 0, OpId::kPipelineSend, StepPass::kForward) == 0);
}

TEST_CASE("recomputation runs the layers that it names again", "[unit]") {
  Sample sample = test::dense_sample();
  RecomputeSpec& recompute = sample.training.recompute;
  recompute.kind = RecomputeKind::kFull;
  CHECK(count_of(sample, 0, OpId::kAttentionCore, StepPass::kRecompute) == 64);
  CHECK(count_of(sample, 0, OpId::kAttentionO, StepPass::kRecompute) == 64);
  recompute.method = RecomputeMethod::kBlock;
  recompute.layers = 3;
  CHECK(count_of(sample, 0, OpId::kAttentionCore, StepPass::kRecompute) == 24);
  CHECK(count_of(sample, 0, OpId::kAttentionCore, StepPass::kForward) == 64);
  recompute.kind = RecomputeKind::kSelective;
  recompute.modules = {RecomputeModule::kCoreAttention};
  CHECK(count_of(sample, 0, OpId::kAttentionCore, StepPass::kRecompute) == 64);
  CHECK(count_of(sample, 0, OpId::kAttentionO, StepPass::kRecompute) == 0);
}

TEST_CASE("a rank of an interleaved pipeline runs its chunks and sends between them", "[unit]") {
  Sample sample = test::dense_sample();
  test::set_pipeline(sample, 4, 2);  // one layer a stage: rank 0 holds stages 0 and 4
  for (const std::int64_t rank : {0, 1, 3}) {
    CAPTURE(rank);
    CHECK(count_of(sample, rank, OpId::kAttentionCore, StepPass::kForward) == 16);
    CHECK(count_of(sample, rank, OpId::kEmbedding, StepPass::kForward) == (rank == 0 ? 8 : 0));
    CHECK(count_of(sample, rank, OpId::kHeadOutput, StepPass::kForward) == (rank == 3 ? 8 : 0));
    CHECK(count_of(sample, rank, OpId::kPipelineSend, StepPass::kForward) == (rank == 3 ? 8 : 16));
    CHECK(count_of(sample, rank, OpId::kPipelineSend, StepPass::kBackward) == (rank == 0 ? 8 : 16));
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
    const Op wanted{OpId::kQuantize, inputs};
    count += prints_alike(entry.op, wanted) && entry.pass == StepPass::kForward ? entry.count : 0;
    const auto same = [&](const CountedOp& other) {
      return prints_alike(other.op, entry.op) && other.pass == entry.pass;
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

// Computation on its own stream, and what runs on a stream of communication: collectives, and the
// copies that FSDP makes beside them.
struct Work {
  Seconds compute;
  std::array<Seconds, kAxes> communication{};

  [[nodiscard]] Seconds communicated() const {
    return std::accumulate(communication.begin(), communication.end(), Seconds{});
  }
};

Work counted_work(const StepContext& context, std::int64_t rank) {
  Work sum;
  for (const CountedOp& entry : operator_inventory(context.expansion, rank)) {
    if (entry.op.id == OpId::kPipelineSend) {  // spans of the pipeline, no time of a pass
      continue;
    }
    const StreamTask task = price({entry.op}, context).front();
    const Seconds all = static_cast<double>(entry.count) * task.duration;
    if (task.axis || runs_on_gather_stream(entry.op)) {
      sum.communication[slot(task.axis.value_or(Axis::kData))] += all;
    } else {
      sum.compute += all;
    }
  }
  return sum;
}

// The same from the breakdown of the step, that of its slowest rank.
Work timed_work(const StepTime& step) {
  Work sum;
  sum.compute = step.breakdown.compute + step.breakdown.optimizer;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    if (axis != slot(Axis::kPipeline)) {
      sum.communication[axis] = step.breakdown.exposed[axis] + step.hidden.exposed[axis];
    }
  }
  return sum;
}

// A wait may be longer than the communication that is waited for where another one shares its
// fabric or goes first; without one it is not.
void check_work(const Sample& sample, const ClusterSpec& cluster, const CostModel& cost) {
  const ExpansionContext expansion = sample.context();
  const StepContext context{expansion, cluster, cost, Hertz(1.4e9)};
  const StepTime step = step_time(context);
  const Work counted = counted_work(context, step.slowest_rank);
  const Work timed = timed_work(step);
  CHECK(counted.compute.value() == Approx(timed.compute.value()).epsilon(1e-9));
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    CAPTURE(axis);
    const double moved = counted.communication[axis].value();
    const bool alone = counted.communication[axis] == counted.communicated();
    CHECK(timed.communication[axis].value() >= moved * (1.0 - 1e-9));
    CHECK((!alone || timed.communication[axis].value() == Approx(moved).epsilon(1e-9)));
  }
}

TEST_CASE("counts times prices are the time of the slowest rank of a pipeline", "[property]") {
  const auto recompute =
      GENERATE(RecomputeKind::kNone, RecomputeKind::kSelective, RecomputeKind::kFull);
  const auto [pp, vpp, schedule] = GENERATE(table<std::int64_t, std::int64_t, Schedule>({
      {1, 1, Schedule::kOneFOneB},
      {4, 1, Schedule::kOneFOneB},
      {2, 2, Schedule::kInterleaved},
      {4, 2, Schedule::kInterleaved},
      {4, 2, Schedule::kZbV},
      {4, 1, Schedule::kDualPipe},
  }));
  const ClusterSpec cluster = cluster_of(test::shipped_gpu("h100_sxm"), 8);
  const CostModel cost = default_cost_model();
  for (Sample sample : {test::dense_sample(), test::moe_sample(), mla_sample()}) {
    sample.training.recompute.kind = recompute;
    test::set_pipeline(sample, pp, vpp);
    sample.plan.schedule = schedule;
    CAPTURE(pp, vpp, schedule, recompute);
    check_work(sample, cluster, cost);
  }
}

// Every rule of traffic, in every pass; a step of one micro-batch is the first and the last.
TEST_CASE("counts times prices are the time of a rank whatever is sharded", "[property]") {
  const auto zero = GENERATE(0, 1, 2, 3);
  const auto micro_batches = GENERATE(1, 2, 8);
  const auto reshard = GENERATE(true, false);
  const ClusterSpec cluster = cluster_of(test::shipped_gpu("h100_sxm"), 8);
  const CostModel cost = default_cost_model();
  for (Sample sample : {test::dense_sample(), mla_sample()}) {
    sample.plan.dp = 16;
    sample.plan.edp = 16 / sample.plan.ep;
    sample.plan.zero = zero;
    sample.plan.fsdp = zero == 3 ? 8 : 1;
    sample.plan.fsdp_reshard = reshard;
    sample.plan.micro_batches = micro_batches;
    sample.software.fsdp_gathers_for_recompute = true;
    for (const bool recompute : {false, true}) {
      sample.training.recompute.kind = recompute ? RecomputeKind::kFull : RecomputeKind::kNone;
      CAPTURE(zero, micro_batches, reshard, recompute);
      check_work(sample, cluster, cost);
    }
  }
}

TEST_CASE("tensor-parallel ranks may send a part each, which the next stage gathers", "[unit]") {
  Sample sample = test::dense_sample();
  test::set_pipeline(sample, 2, 1);
  sample.plan.tp = 4;
  const Collective whole = pipeline_send(sample.context());
  CHECK_FALSE(pipeline_gather(sample.context()));
  CHECK(count_of(sample, 0, OpId::kPipelineGather, StepPass::kForward) == 0);
  sample.software.scatters_pipeline_sends = true;
  const Collective part = pipeline_send(sample.context());
  CHECK(part.bytes == 0.25 * whole.bytes);
  const std::optional<Collective> gather = pipeline_gather(sample.context());
  REQUIRE(gather);
  CHECK((gather->bytes == whole.bytes && gather->group.size == 4));
  CHECK(count_of(sample, 0, OpId::kPipelineGather, StepPass::kForward) == 8);
  // Of a sequence that is divided already every rank sends its own part, and nothing is gathered.
  sample.plan.sequence_parallel = true;
  CHECK(pipeline_send(sample.context()).bytes == part.bytes);
  CHECK_FALSE(pipeline_gather(sample.context()));
}

}  // namespace
}  // namespace stepcast::operator_inventory_test
