// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/data_parallel.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/layer/built_stage.hpp"
#include "stepcast/schedule/step_operators.hpp"

namespace stepcast::data_parallel_test {
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

StageParameters stage_parameters(const Sample& sample, std::size_t stage) {
  return StageBuilder{}.stage(sample.context(), stage).parameters;
}

// Of a pipeline of one rank.
LocalParameters local_parameters_of(const Sample& sample) {
  return stage_parameters(sample, 0).all();
}

// All that the optimizer step runs.
OpList update_of(const Sample& sample) {
  OpList all;
  for (const RepeatedOps& part :
       optimizer_ops(sample.context(), {local_parameters_of(sample), {}})) {
    CHECK(part.times == 1);
    all.insert(all.end(), part.ops.begin(), part.ops.end());
  }
  return all;
}

double parameters_of(const Sample& sample) { return local_parameters_of(sample).total(); }

// What a stage moves for one micro-batch, and what once a step.
struct Traffic {
  OpList forward;
  OpList backward;
  OpList once;
};

void append(OpList& to, const OpList& ops, std::int64_t times) {
  for (std::int64_t i = 0; i < times; ++i) {
    to.insert(to.end(), ops.begin(), ops.end());
  }
}

Traffic traffic_of(const Sample& sample, std::size_t stage = 0) {
  const StepOperators operators = step_operators(sample.context());
  Traffic traffic;
  const auto move = [&](Frequency frequency, OpList& each, const OpList& ops, std::int64_t times) {
    if (frequency != Frequency::kNever) {
      append(frequency == Frequency::kOnceAStep ? traffic.once : each, ops, times);
    }
  };
  for (const LayerRun& run : operators.stages[stage]) {
    const StageLayer& layer = operators.layers[run.layer];
    const LayerTraffic& t = layer.traffic;
    const std::int64_t gathers =
        layer.stays_gathered ? 0 : run.count * operators.rule.backward_gathers;
    for (const OpList* ops : {&t.copy_in, &t.gather, &t.copy_out}) {
      move(operators.rule.forward_gather, traffic.forward, *ops, run.count);
      move(operators.rule.backward_gather, traffic.backward, *ops, gathers);
    }
    for (const OpList* ops : {&t.before_reduce, &t.reduce}) {
      move(operators.rule.reduce, traffic.backward, *ops, run.count);
    }
    append(traffic.once, t.replicas, run.count);
  }
  return traffic;
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

// Forward and backward gather with resharding; recomputation inside the wrapper gathers once more.
TEST_CASE("full sharding gathers once, twice or three times", "[case]") {
  const auto [reshard, recompute, wraps_gather, gathers] =
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
  sample.software.fsdp_gathers_for_recompute = wraps_gather;
  CAPTURE(reshard, wraps_gather, gathers);
  const TrafficRule rule = traffic_rule(sample.context());
  CHECK(1 + rule.backward_gathers == gathers);
  CHECK((rule.forward_gather == Frequency::kEveryMicroBatch) == reshard);
  CHECK((rule.reduce == Frequency::kEveryMicroBatch) == reshard);

  // The root holds the ends, which are gathered forward alone.
  const double all = parameters_of(sample);
  const double layers = all - stage_parameters(sample, 0).ends.total();
  const Traffic traffic = traffic_of(sample);
  CHECK(bytes_of(traffic.forward, CollectiveOp::kAllGather) == nearly(reshard ? 2.0 * all : 0.0));
  CHECK(bytes_of(traffic.backward, CollectiveOp::kAllGather) ==
        nearly(reshard ? 2.0 * static_cast<double>(gathers - 1) * layers : 0.0));
  CHECK(bytes_of(traffic.once, CollectiveOp::kAllGather) == nearly(reshard ? 0.0 : 2.0 * all));
}

// Experts on 2 of 8 ranks have four replicas, whose gradients meet once a step.
TEST_CASE("experts that full sharding leaves out are neither gathered nor scattered", "[unit]") {
  Sample sample = test::moe_sample();
  sample.plan.dp = 8;
  sample.plan.ep = 2;
  sample.plan.edp = 4;
  sample.plan.zero = 3;
  sample.plan.fsdp = 8;
  const LocalParameters all = stage_parameters(sample, 0).all();
  CHECK(bytes_of(traffic_of(sample).forward, CollectiveOp::kAllGather) ==
        nearly(2.0 * all.total()));
  CHECK(bytes_of(traffic_of(sample).once, CollectiveOp::kAllReduce) == 0.0);
  sample.plan.fsdp_experts = false;
  const Traffic traffic = traffic_of(sample);
  const double element = sample.software.gradient_reduce.value();
  CHECK(bytes_of(traffic.forward, CollectiveOp::kAllGather) == nearly(2.0 * all.dense));
  CHECK(bytes_of(traffic.backward, CollectiveOp::kReduceScatter) == nearly(element * all.dense));
  CHECK(bytes_of(traffic.once, CollectiveOp::kAllReduce) == nearly(element * all.expert));
}

TEST_CASE("less than full sharding gathers parameters at most once a step", "[unit]") {
  for (const std::int64_t zero : {0, 1, 2}) {
    const Sample sample = sharded(zero, 8);
    const TrafficRule rule = traffic_rule(sample.context());
    CHECK(rule.forward_gather == (zero == 0 ? Frequency::kNever : Frequency::kOnceAStep));
    CHECK(rule.backward_gather == Frequency::kNever);
    CHECK(bytes_of(traffic_of(sample).forward, CollectiveOp::kAllGather) == 0.0);
    CHECK(bytes_of(traffic_of(sample).backward, CollectiveOp::kAllGather) == 0.0);
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

TEST_CASE(
    "FSDP2 casts and copies lists of shards, whatever their format, and flat shards lie there",
    "[unit]") {
  Sample sample = sharded(3, 8);
  const double p = parameters_of(sample);
  sample.software.fsdp_layout = ShardLayout::kPerParameter;
  sample.software.fsdp_parameters_fp32 = true;
  const Traffic wide = traffic_of(sample);
  CHECK(copied(wide.forward, MemoryBoundKind::kListCast) == Approx(p / 8.0));
  CHECK(copied(wide.forward, MemoryBoundKind::kListCopy) == Approx(p / 8.0));
  CHECK(copied(wide.forward, MemoryBoundKind::kCopy) == p);
  sample.software.fsdp_parameters_fp32 = false;
  const Traffic narrow = traffic_of(sample);
  CHECK(copied(narrow.forward, MemoryBoundKind::kListCast) == 0.0);
  CHECK(copied(narrow.forward, MemoryBoundKind::kListCopy) == Approx(p / 8.0));
  CHECK(copied(narrow.backward, MemoryBoundKind::kConcatenate) == p);
  sample.software.fsdp_layout = ShardLayout::kFlat;
  CHECK(copied(traffic_of(sample).forward, MemoryBoundKind::kListCopy) == 0.0);
}

TEST_CASE("flat shards in fp32 are cast, copied out and concatenated", "[unit]") {
  Sample sample = sharded(3, 8);
  sample.software.fsdp_parameters_fp32 = true;
  const double p = parameters_of(sample);
  const double ends = stage_parameters(sample, 0).ends.total();
  const Traffic each = traffic_of(sample);
  CHECK(copied(each.forward, MemoryBoundKind::kCast) == Approx(p / 8.0));
  CHECK(copied(each.forward, MemoryBoundKind::kCopy) == p);
  CHECK(copied(each.backward, MemoryBoundKind::kCopy) == p - ends);
  CHECK(copied(each.backward, MemoryBoundKind::kConcatenate) == p);
  sample.software.fsdp_parameters_fp32 = false;
  const Traffic buffers = traffic_of(sample);
  CHECK(copied(buffers.forward, MemoryBoundKind::kCopy) == 0.0);
  CHECK(copied(buffers.backward, MemoryBoundKind::kConcatenate) == 0.0);
}

// ZeRO, section 7: with P parameters, 2 bytes of parameters and 4 of reduced gradients.
TEST_CASE("each ZeRO stage moves its gradients and parameters", "[case]") {
  const Sample zero0 = sharded(0, 8);
  const double p = parameters_of(zero0);
  CHECK(bytes_of(traffic_of(zero0).once, CollectiveOp::kAllReduce) == nearly(4.0 * p));

  const Traffic zero1 = traffic_of(sharded(1, 8));
  CHECK(bytes_of(zero1.once, CollectiveOp::kReduceScatter) == nearly(4.0 * p));
  CHECK(bytes_of(zero1.once, CollectiveOp::kAllGather) == nearly(2.0 * p));

  const Traffic zero2 = traffic_of(sharded(2, 8));
  CHECK(bytes_of(zero2.backward, CollectiveOp::kReduceScatter) == nearly(4.0 * p));
  CHECK(bytes_of(zero2.once, CollectiveOp::kAllGather) == nearly(2.0 * p));

  Sample full = sharded(3, 8);
  const double ends = stage_parameters(full, 0).ends.total();
  for (const bool root_holds_ends : {true, false}) {
    full.software.fsdp_root_holds_ends = root_holds_ends;
    const Traffic zero3 = traffic_of(full);
    // Embedding and head are equal here; the head stays gathered from the loss to its backward.
    const double kept = root_holds_ends ? ends : ends - 32'000.0 * 1024.0;
    CHECK(bytes_of(zero3.forward, CollectiveOp::kAllGather) == nearly(2.0 * p));
    CHECK(bytes_of(zero3.backward, CollectiveOp::kAllGather) == nearly(2.0 * (p - kept)));
    CHECK(bytes_of(zero3.backward, CollectiveOp::kReduceScatter) == nearly(4.0 * p));
    CHECK(zero3.once.empty());
  }
}

TEST_CASE("gradients reduced in 16 bits move half", "[unit]") {
  Sample sample = sharded(0, 8);
  sample.software.gradient_reduce = Bytes(2);
  CHECK(bytes_of(traffic_of(sample).once, CollectiveOp::kAllReduce) ==
        nearly(2.0 * parameters_of(sample)));
}

TEST_CASE("a single replica moves nothing", "[unit]") {
  for (const std::int64_t zero : {0, 1, 2, 3}) {
    const Traffic traffic = traffic_of(sharded(zero, 1));
    CHECK(traffic.once.empty());
    CHECK(traffic.forward.empty());
    CHECK(traffic.backward.empty());
  }
}

TEST_CASE("hybrid sharding all-reduces the shards between replicas once a step", "[case]") {
  Sample sample = sharded(3, 16);
  sample.plan.fsdp = 8;
  const OpList ops = traffic_of(sample).once;
  REQUIRE(ops.size() == 9);  // of the root and of 8 layers
  for (const Op& op : ops) {
    CHECK(std::get<Collective>(op.work).group == ProcessGroup{2, 8});
  }
  CHECK(bytes_of(ops, CollectiveOp::kAllReduce) == nearly(4.0 * parameters_of(sample) / 8.0));
}

TEST_CASE("experts are reduced over their own, smaller group", "[unit]") {
  Sample sample = test::moe_sample();
  sample.plan.dp = 16;
  sample.plan.ep = 4;
  sample.plan.edp = 4;
  const LocalParameters local = stage_parameters(sample, 0).all();
  double dense = 0.0;
  double expert = 0.0;
  for (const Op& op : traffic_of(sample).once) {
    const auto& collective = std::get<Collective>(op.work);
    const bool of_experts = collective.group == ProcessGroup{4, 4};
    CHECK((of_experts || collective.group == ProcessGroup{16, 1}));
    (of_experts ? expert : dense) += collective.bytes.value();
  }
  CHECK(dense == nearly(4.0 * local.dense));
  CHECK(expert == nearly(4.0 * local.expert));
}

TEST_CASE("a layer without parameters moves nothing", "[unit]") {
  for (const std::int64_t zero : {0, 1, 3}) {
    const Sample sample = sharded(zero, 8);
    CHECK(layer_traffic(sample.context(), {}).empty());
    CHECK_FALSE(layer_traffic(sample.context(), {.dense = 1024.0}).empty());
  }
}

TEST_CASE("clipping moves 18 bytes of a rank's share and 4 of each of its gradients", "[unit]") {
  Sample sample = sharded(1, 4);
  sample.software.states.gradient = Bytes(4);
  CHECK(update_of(sample).size() == 1);
  sample.software.clips_gradients = true;
  Bytes moved;
  for (const Op& op : update_of(sample)) {
    moved += op.id == OpId::kOptimizer ? Bytes{} : compulsory_bytes(op);
  }
  // Norm 4, clipping 8, copy into 16 bits 4 + 2; zeros 4.
  const double parameters = parameters_of(sample);
  CHECK(moved.value() == Approx(18.0 * parameters / 4.0 + 4.0 * parameters).epsilon(1e-4));
}

TEST_CASE("scaling by the norm moves 12 bytes of a rank's share", "[unit]") {
  Sample sample = sharded(3, 4);
  sample.software.states.gradient = Bytes(4);
  sample.software.scales_gradients = true;
  Bytes moved;
  for (const Op& op : update_of(sample)) {
    moved += op.id == OpId::kOptimizer ? Bytes{} : compulsory_bytes(op);
  }
  CHECK(moved.value() == Approx(12.0 * parameters_of(sample) / 4.0).epsilon(1e-4));
}

TEST_CASE("a unit of experts that one rank holds is copied, not sent", "[unit]") {
  // 4 ranks, each with its own experts: 26 bytes of an expert's parameter in 16-bit copies and fp32
  // quotients, and nothing over links.
  Sample sample = test::moe_sample();
  sample.plan.dp = 4;
  sample.plan.ep = 4;
  sample.plan.fsdp = 4;
  sample.plan.zero = 3;
  sample.software.fsdp_parameters_fp32 = true;
  sample.software.fsdp_layout = ShardLayout::kPerParameter;
  sample.software.gradient_reduce = Bytes(4);
  const LocalParameters experts{.expert = 1e6};
  const auto moved = [&](const OpList& ops) {
    Bytes bytes;
    for (const Op& op : ops) {
      CHECK(std::holds_alternative<MemoryBound>(op.work));
      bytes += compulsory_bytes(op);
    }
    return bytes.value() / experts.expert;
  };
  CHECK(layer_traffic(sample.context(), experts).copy_out.empty());
  sample.software.fsdp_wraps_lone_experts = true;
  const LayerTraffic traffic = layer_traffic(sample.context(), experts);
  CHECK(traffic.gather.empty());
  CHECK(traffic.reduce.empty());
  CHECK(moved(traffic.copy_out) == Approx(6.0 + 4.0));
  CHECK(moved(traffic.before_reduce) == Approx(6.0));
  CHECK(moved(traffic.after_reduce) == Approx(8.0 + 8.0));
  // Shared by two ranks it is an ordinary unit.
  sample.plan.ep = 2;
  sample.plan.edp = 2;
  CHECK_FALSE(layer_traffic(sample.context(), experts).gather.empty());
  CHECK(layer_traffic(sample.context(), experts).after_reduce.empty());
}

TEST_CASE("checking moves 12 bytes of each local gradient, 4 of them without replicas", "[unit]") {
  for (const std::int64_t replicas : {1, 4}) {
    Sample sample = sharded(1, replicas);
    sample.software.states.gradient = Bytes(4);
    sample.software.checks_gradients = true;
    Bytes moved;
    for (const Op& op : update_of(sample)) {
      moved += op.id == OpId::kOptimizer ? Bytes{} : compulsory_bytes(op);
    }
    // The mean reads and writes 4 bytes each; the search for what is not a number reads 4.
    const double each = replicas > 1 ? 12.0 : 4.0;
    CHECK(moved.value() == Approx(each * parameters_of(sample)).epsilon(1e-4));
  }
}

TEST_CASE("with broadcasts each rank's share is sent once, instead of the gather", "[unit]") {
  Sample sample = sharded(1, 4);
  const double gathered = bytes_of(traffic_of(sample).forward, CollectiveOp::kAllGather) +
                          bytes_of(traffic_of(sample).once, CollectiveOp::kAllGather);
  CHECK(gathered == nearly(2.0 * parameters_of(sample)));
  sample.software.zero_broadcasts = true;
  const OpList ops = update_of(sample);
  CHECK(bytes_of(ops, CollectiveOp::kBroadcast) == nearly(gathered));
  std::size_t broadcasts = 0;
  for (const Op& op : ops) {
    if (const auto* collective = std::get_if<Collective>(&op.work)) {
      CHECK(collective->bytes.value() == nearly(gathered / 4.0));
      CHECK(collective->group == ProcessGroup{4, 1});
      ++broadcasts;
    }
  }
  CHECK(broadcasts == 4);
  CHECK(bytes_of(traffic_of(sample).once, CollectiveOp::kAllGather) == 0.0);
  // Full sharding gathers a layer at a time whatever the switch says.
  Sample full = sharded(3, 4);
  full.software.zero_broadcasts = true;
  CHECK(bytes_of(update_of(full), CollectiveOp::kBroadcast) == 0.0);
}

TEST_CASE("ZeRO that all-reduces does so in one call after backward", "[unit]") {
  Sample sample = sharded(1, 4);
  CHECK(traffic_rule(sample.context()).reduces_beside_backward);
  sample.software.zero_all_reduces = true;
  CHECK_FALSE(traffic_rule(sample.context()).reduces_beside_backward);
  const OpList once = traffic_of(sample).once;
  CHECK(bytes_of(once, CollectiveOp::kAllReduce) == nearly(4.0 * parameters_of(sample)));
  CHECK(bytes_of(once, CollectiveOp::kReduceScatter) == 0.0);
  for (const Op& op : once) {
    const auto* collective = std::get_if<Collective>(&op.work);
    if (collective != nullptr && collective->op == CollectiveOp::kAllReduce) {
      CHECK(collective->joined == 8.0);  // the layers of the model
    }
  }
  // Other stages are as they were.
  for (const std::int64_t zero : {0, 2, 3}) {
    Sample other = sharded(zero, 4);
    other.software.zero_all_reduces = true;
    CHECK(traffic_rule(other.context()).reduces_beside_backward);
    CHECK(bytes_of(traffic_of(other).once, CollectiveOp::kAllReduce) ==
          nearly(zero == 0 ? 4.0 * parameters_of(other) : 0.0));
  }
}

// A layer of 15.2 million parameters has 12.6 million of its MLP in three tensors of 4.2, beside
// buckets of 13.1 million in 16 bits and of 6.6 million in fp32.
TEST_CASE("buckets of DistributedDataParallel are parts of a layer or several", "[unit]") {
  Sample sample = sharded(0, 4);
  sample.software.gradient_buckets = GradientBuckets::kDdp;
  const auto joined = [&] {
    const StepOperators operators = step_operators(sample.context());
    for (const StageLayer& layer : operators.layers) {
      if (!layer.ops->forward.empty() && !layer.traffic.reduce.empty()) {
        const auto& call = std::get<Collective>(layer.traffic.reduce[0].work);
        if (call.bytes.value() < 100e6) {  // no matrix of the vocabulary
          return call.joined;
        }
      }
    }
    return 0.0;
  };
  sample.software.states.parameter = Bytes(2);
  CHECK(joined() > 0.86);
  CHECK(joined() < 1.2);
  sample.software.states.parameter = Bytes(4);
  CHECK(joined() > 0.43);
  CHECK(joined() < 0.8);
  sample.plan.zero = 1;
  CHECK(joined() == 1.0);
}

TEST_CASE("parameters that nothing overlaps are gathered at once after the update", "[unit]") {
  for (const std::int64_t zero : {1, 2}) {
    Sample sample = sharded(zero, 4);
    const auto gathers = [&] {
      std::vector<double> bytes;
      for (const Op& op : update_of(sample)) {
        if (const auto* collective = std::get_if<Collective>(&op.work)) {
          CHECK(collective->op == CollectiveOp::kAllGather);
          bytes.push_back(collective->bytes.value());
        }
      }
      return bytes;
    };
    CHECK(gathers().empty());
    sample.software.overlap_param_gather = false;
    REQUIRE(gathers().size() == 1);
    CHECK(gathers()[0] == nearly(2.0 * parameters_of(sample)));
    CHECK(bytes_of(traffic_of(sample).once, CollectiveOp::kAllGather) == 0.0);
  }
}

TEST_CASE("the optimizer updates a rank's shard", "[unit]") {
  const auto elements = [](const Sample& sample) {
    return std::get<MemoryBound>(update_of(sample).front().work).cols;
  };
  const std::int64_t all = elements(sharded(0, 8));
  CHECK(static_cast<double>(all) == parameters_of(sharded(0, 8)));
  for (const std::int64_t zero : {1, 2, 3}) {
    CHECK(elements(sharded(zero, 8)) == all / 8);
  }
}

TEST_CASE("pipeline stages together reduce every parameter once", "[property]") {
  Sample sample = sharded(0, 8);
  const double whole = bytes_of(traffic_of(sample).once, CollectiveOp::kAllReduce);
  for (const auto& [pp, vpp] : {std::pair<std::int64_t, std::int64_t>{2, 1}, {4, 1}, {2, 2}}) {
    test::set_pipeline(sample, pp, vpp);
    double sum = 0.0;
    for (std::size_t stage = 0; stage < sample.plan.stages.size(); ++stage) {
      sum += bytes_of(traffic_of(sample, stage).once, CollectiveOp::kAllReduce);
    }
    CHECK(sum == nearly(whole));
  }
}

// Ranks r and p - 1 - r of DualPipe hold the same stages and add up their gradients.
TEST_CASE("DualPipe's two holders of a stage reduce their gradients once a step", "[unit]") {
  for (const std::int64_t zero : {0, 1}) {
    Sample sample = sharded(zero, 8);
    test::set_pipeline(sample, 4, 1);
    // Gradients of a stage as the software reduces them, of which ZeRO leaves a rank 1 / dp.
    const double share = zero == 0 ? 1.0 : 1.0 / 8.0;
    for (std::size_t stage = 0; stage < 4; ++stage) {
      sample.plan.schedule = Schedule::kOneFOneB;
      CHECK(traffic_of(sample, stage).once.back().id != OpId::kDpMirror);
      sample.plan.schedule = Schedule::kDualPipe;
      double mirrored = 0.0;
      for (const Op& op : traffic_of(sample, stage).once) {
        if (op.id == OpId::kDpMirror) {
          const auto& collective = std::get<Collective>(op.work);
          CHECK(collective.op == CollectiveOp::kAllReduce);
          CHECK(collective.group == ProcessGroup{2, 2 * 8});  // half the pipeline apart
          mirrored += collective.bytes.value();
        }
      }
      const double elements = stage_parameters(sample, stage).all().total();
      CHECK(mirrored == nearly(4.0 * share * elements));
    }
  }
}

}  // namespace
}  // namespace stepcast::data_parallel_test
