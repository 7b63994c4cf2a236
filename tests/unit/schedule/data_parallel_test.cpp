// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/data_parallel.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/parallel/sharding.hpp"

namespace stepcast {
namespace {

using test::nearly;
using test::Sample;

Sample sharded(std::int64_t zero, std::int64_t dp) {
  Sample sample = test::dense_sample();
  sample.plan.dp = dp;
  sample.plan.edp = dp;
  sample.plan.zero = zero;
  sample.plan.fsdp = zero == 3 ? dp : 1;
  return sample;
}

double parameters_of(const Sample& sample) {
  return stage_parameters(sample.model, sample.plan, 0).all().total();
}

// Bytes of every collective of one kind.
double bytes_of(const OpList& ops, CollectiveOp kind) {
  double sum = 0.0;
  for (const Op& op : ops) {
    if (const auto* collective = std::get_if<Collective>(&op.work)) {
      CHECK(collective->axis == Axis::kData);
      sum += collective->op == kind ? collective->bytes.value() : 0.0;
    }
  }
  return sum;
}

int gathers_of(const MicroBatchCollectives& collectives) {
  int count = 0;
  for (const OpList* list : {&collectives.forward, &collectives.backward}) {
    for (const Op& op : *list) {
      count += op.name == "fsdp.gather" ? 1 : 0;
    }
  }
  return count;
}

// Forward and backward gather with resharding; recomputation inside the wrapper gathers once more.
TEST_CASE("full sharding gathers once, twice or three times", "[case]") {
  const auto [reshard, recompute, again, gathers] =
      GENERATE(table<bool, RecomputeKind, bool, std::int64_t>({
          {true, RecomputeKind::kNone, false, 2},
          {true, RecomputeKind::kNone, true, 2},
          {true, RecomputeKind::kSelective, true, 2},
          {true, RecomputeKind::kFull, false, 2},
          {true, RecomputeKind::kFull, true, 3},
          {false, RecomputeKind::kNone, false, 1},
          {false, RecomputeKind::kFull, true, 1},
      }));
  Sample sample = sharded(3, 8);
  sample.plan.fsdp_reshard = reshard;
  sample.training.recompute.kind = recompute;
  sample.software.fsdp_gathers_for_recompute = again;
  CAPTURE(reshard, again, gathers);
  CHECK(parameter_gathers(sample.plan, sample.training, sample.software) == gathers);
  const MicroBatchCollectives each = micro_batch_collectives(sample.context(), 0);
  CHECK(gathers_of(each) == (reshard ? static_cast<int>(gathers) : 0));
  const OpList once = step_collectives(sample.context(), 0);
  CHECK(bytes_of(once, CollectiveOp::kAllGather) == (reshard ? 0.0 : 2.0 * parameters_of(sample)));
}

TEST_CASE("less than full sharding gathers no parameters before they are used", "[unit]") {
  for (const std::int64_t zero : {0, 1, 2}) {
    const Sample sample = sharded(zero, 8);
    CHECK(parameter_gathers(sample.plan, sample.training, sample.software) == 0);
    CHECK(gathers_of(micro_batch_collectives(sample.context(), 0)) == 0);
  }
}

// Values that copies of `kind` move.
double copied(const OpList& ops, MemoryBoundKind kind) {
  double sum = 0.0;
  for (const Op& op : ops) {
    const auto* copy = std::get_if<MemoryBound>(&op.work);
    sum += copy != nullptr && copy->kind == kind ? static_cast<double>(copy->cols) : 0.0;
  }
  return sum;
}

TEST_CASE("FSDP2 casts its shard, copies gathered parameters and concatenates gradients",
          "[unit]") {
  Sample sample = sharded(3, 8);
  sample.software.fsdp_parameters_fp32 = true;
  const double p = parameters_of(sample);
  const MicroBatchCollectives each = micro_batch_collectives(sample.context(), 0);
  CHECK(copied(each.forward, MemoryBoundKind::kCast) == Approx(p / 8.0));
  CHECK(copied(each.forward, MemoryBoundKind::kCopy) == p);
  CHECK(copied(each.backward, MemoryBoundKind::kCopy) == p);
  CHECK(copied(each.backward, MemoryBoundKind::kConcatenate) == p);
  sample.software.fsdp_parameters_fp32 = false;
  const MicroBatchCollectives buffers = micro_batch_collectives(sample.context(), 0);
  CHECK(copied(buffers.forward, MemoryBoundKind::kCopy) == 0.0);
  CHECK(copied(buffers.backward, MemoryBoundKind::kConcatenate) == 0.0);
}

// ZeRO, section 7: with P parameters, 2 bytes of parameters and 4 of reduced gradients.
TEST_CASE("each ZeRO stage moves its gradients and parameters", "[case]") {
  const Sample zero0 = sharded(0, 8);
  const double p = parameters_of(zero0);
  CHECK(bytes_of(step_collectives(zero0.context(), 0), CollectiveOp::kAllReduce) == 4.0 * p);

  const OpList zero1 = step_collectives(sharded(1, 8).context(), 0);
  CHECK(bytes_of(zero1, CollectiveOp::kReduceScatter) == 4.0 * p);
  CHECK(bytes_of(zero1, CollectiveOp::kAllGather) == 2.0 * p);

  const Sample zero2 = sharded(2, 8);
  CHECK(bytes_of(micro_batch_collectives(zero2.context(), 0).backward,
                 CollectiveOp::kReduceScatter) == 4.0 * p);
  CHECK(bytes_of(step_collectives(zero2.context(), 0), CollectiveOp::kAllGather) == 2.0 * p);

  const MicroBatchCollectives zero3 = micro_batch_collectives(sharded(3, 8).context(), 0);
  CHECK(bytes_of(zero3.forward, CollectiveOp::kAllGather) == 2.0 * p);
  CHECK(bytes_of(zero3.backward, CollectiveOp::kAllGather) == 2.0 * p);
  CHECK(bytes_of(zero3.backward, CollectiveOp::kReduceScatter) == 4.0 * p);
  CHECK(step_collectives(sharded(3, 8).context(), 0).empty());
}

TEST_CASE("gradients reduced in 16 bits move half", "[unit]") {
  Sample sample = sharded(0, 8);
  sample.software.gradient_reduce = Bytes(2);
  CHECK(bytes_of(step_collectives(sample.context(), 0), CollectiveOp::kAllReduce) ==
        2.0 * parameters_of(sample));
}

TEST_CASE("a single replica moves nothing", "[unit]") {
  for (const std::int64_t zero : {0, 1, 2, 3}) {
    const Sample sample = sharded(zero, 1);
    CHECK(step_collectives(sample.context(), 0).empty());
    CHECK(micro_batch_collectives(sample.context(), 0).forward.empty());
    CHECK(micro_batch_collectives(sample.context(), 0).backward.empty());
  }
}

TEST_CASE("hybrid sharding all-reduces the shards between replicas once a step", "[case]") {
  Sample sample = sharded(3, 16);
  sample.plan.fsdp = 8;
  const OpList ops = step_collectives(sample.context(), 0);
  REQUIRE(ops.size() == 1);
  const auto& collective = std::get<Collective>(ops[0].work);
  CHECK(collective.op == CollectiveOp::kAllReduce);
  CHECK(collective.bytes.value() == nearly(4.0 * parameters_of(sample) / 8.0));
  CHECK(collective.group == ProcessGroup{2, 8});
}

TEST_CASE("experts are reduced over their own, smaller group", "[unit]") {
  Sample sample = test::moe_sample();
  sample.plan.dp = 16;
  sample.plan.ep = 4;
  sample.plan.edp = 4;
  const LocalParameters local = stage_parameters(sample.model, sample.plan, 0).all();
  const OpList ops = step_collectives(sample.context(), 0);
  REQUIRE(ops.size() == 2);
  const auto& dense = std::get<Collective>(ops[0].work);
  const auto& expert = std::get<Collective>(ops[1].work);
  CHECK(dense.group == ProcessGroup{16, 1});
  CHECK(dense.bytes == Bytes(4.0 * local.dense));
  CHECK(expert.group == ProcessGroup{4, 4});
  CHECK(expert.bytes == Bytes(4.0 * local.expert));
}

TEST_CASE("the optimizer updates a rank's shard", "[unit]") {
  const auto elements = [](const Sample& sample) {
    return std::get<MemoryBound>(optimizer_ops(sample.context(), 0).front().work).cols;
  };
  const std::int64_t all = elements(sharded(0, 8));
  CHECK(static_cast<double>(all) == parameters_of(sharded(0, 8)));
  for (const std::int64_t zero : {1, 2, 3}) {
    CHECK(elements(sharded(zero, 8)) == all / 8);
  }
}

TEST_CASE("pipeline ranks together reduce every parameter once", "[property]") {
  Sample sample = sharded(0, 8);
  const double whole = bytes_of(step_collectives(sample.context(), 0), CollectiveOp::kAllReduce);
  for (const auto& [pp, vpp] : {std::pair<std::int64_t, std::int64_t>{2, 1}, {4, 1}, {2, 2}}) {
    test::set_pipeline(sample, pp, vpp);
    double sum = 0.0;
    for (std::int64_t rank = 0; rank < pp; ++rank) {
      sum += bytes_of(step_collectives(sample.context(), rank), CollectiveOp::kAllReduce);
    }
    CHECK(sum == nearly(whole));
  }
}

// Ranks r and p - 1 - r of DualPipe hold the same stages and add up their gradients.
TEST_CASE("DualPipe's two holders of a stage reduce their gradients once a step", "[unit]") {
  Sample sample = sharded(1, 8);
  test::set_pipeline(sample, 4, 1);
  const auto mirror = [&sample](std::int64_t rank) {
    for (const Op& op : step_collectives(sample.context(), rank)) {
      if (op.name == "dp.mirror") {
        return std::get<Collective>(op.work);
      }
    }
    return Collective{};
  };
  CHECK(mirror(0).bytes == Bytes{});
  sample.plan.schedule = Schedule::kDualPipe;
  // Stages 0 and 3, gradients as the software reduces them, a share of 1 / dp on every rank.
  const double elements = stage_parameters(sample.model, sample.plan, 0).all().total() +
                          stage_parameters(sample.model, sample.plan, 3).all().total();
  CHECK(mirror(0).bytes.value() ==
        nearly(elements / 8.0 * sample.software.gradient_reduce.value()));
  CHECK(mirror(0).group == ProcessGroup{2, 3 * 8});  // 3 ranks of 8 GPUs apart
  CHECK(mirror(2).group == ProcessGroup{2, 8});
}

}  // namespace
}  // namespace stepcast
