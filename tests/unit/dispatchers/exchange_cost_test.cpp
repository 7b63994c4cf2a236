// SPDX-License-Identifier: Apache-2.0
#include "stepcast/dispatchers/dispatcher_table.hpp"

#include <cmath>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/config/enum_fields.hpp"
#include "stepcast/dispatchers/deepep.hpp"
#include "stepcast/layer/dispatcher_model.hpp"

namespace stepcast::exchange_cost_test {
namespace {

// Nodes of 8 GPUs with 100 GB/s inside and 10 GB/s outside; every dispatcher has a kernel without
// start-up whose units copy 10 GB/s each, and half of HBM's 1 TB/s for local passes.
ClusterSpec round_exchange_cluster(std::int64_t nodes) {
  ClusterSpec cluster = test::round_cluster(nodes);
  DeviceSpec& device = cluster.device;
  device.compute_units = 100;
  device.hbm.achieved = BytesPerSecond(1e12);
  DispatcherConstants constants;
  constants.units = 20;
  constants.local_share = 0.5;
  constants.host_sync = Seconds(5e-6);
  constants.dispatch.row_rate = BytesPerSecond(10e9);
  constants.combine = constants.dispatch;
  device.exchange.dispatchers.fill(constants);
  return cluster;
}

// 1000 tokens of 500 values in bf16, rows of 1000 bytes; each chooses all 8 experts, one a rank.
ExpertExchange to_all(Dispatcher dispatcher, ExchangePhase phase = ExchangePhase::kDispatch) {
  ExpertExchange op;
  op.phase = phase;
  op.dispatcher = dispatcher;
  op.tokens = 1000;
  op.hidden = 500;
  op.experts = 8;
  op.topk = 8;
  op.group.size = 8;
  return op;
}

OpCost price(const ExpertExchange& op, const ClusterSpec& cluster,
             Detail detail = Detail::kDuration) {
  return exchange_cost(op, {cluster, detail}, *make_ring_direct_collective());
}

OpCost shipped_price(const ExpertExchange& op, const char* gpu) {
  return price(op, cluster_of(test::shipped_gpu(gpu), 64));
}

TEST_CASE("every dispatcher says what it computes, assumes and where it is from", "[unit]") {
  REQUIRE(enum_names<Dispatcher>().size() == kDispatchers);
  for (const NamedValue<Dispatcher>& dispatcher : enum_names<Dispatcher>()) {
    CAPTURE(dispatcher.name);
    CHECK(name(dispatcher.value) == dispatcher.name);
    const DispatcherModel& model = model_of(dispatcher.value);
    CHECK_FALSE(model.equation.empty());
    CHECK_FALSE(model.assumptions.empty());
    CHECK_FALSE(model.source.empty());
    CHECK(model.price != nullptr);
    CHECK(model.buffers != nullptr);
    CHECK(model.receives.has(model.receives.usual));
  }
}

TEST_CASE("one rank costs nothing with any dispatcher", "[unit]") {
  for (const NamedValue<Dispatcher>& dispatcher : enum_names<Dispatcher>()) {
    ExpertExchange op = to_all(dispatcher.value);
    op.group.size = 1;
    CHECK(price(op, round_exchange_cluster(1)).duration == Seconds{});
  }
}

TEST_CASE("within a node the links or the units that copy set the time", "[unit]") {
  const ClusterSpec cluster = round_exchange_cluster(1);
  // 8 MB at 20 x 10 GB/s are 40 us, 7 MB at 100 GB/s 70 us.
  ExpertExchange op = to_all(Dispatcher::kDeepEp);
  CHECK(price(op, cluster).duration.value() == Approx(70e-6));
  CHECK(price(op, cluster).units == 20);
  CHECK(price(op, cluster).bound == Bound::kBandwidth);
  // 4 units need 200 us.
  op.compute_units = 4;
  CHECK(price(op, cluster).duration.value() == Approx(200e-6));
  CHECK(price(op, cluster).units == 4);
  CHECK(price(op, cluster).bound == Bound::kCompute);
}

TEST_CASE("the profile's units set the price, the buffers and what the exchange holds", "[unit]") {
  ClusterSpec cluster = round_exchange_cluster(1);
  const ExpertExchange op = to_all(Dispatcher::kDeepEp);
  ParallelPlan plan;
  plan.exchange.dispatcher = Dispatcher::kDeepEp;
  const auto nvlink = [&](std::int64_t units) {
    cluster.device.exchange.of(Dispatcher::kDeepEp).units = units;
    plan.exchange_units = exchange_units(plan.exchange, cluster.device.exchange);
    ExchangeShape shape;
    shape.hidden = 500;
    shape.ranks = shape.ranks_in_domain = shape.experts = 8;
    const auto buffers =
        model_of(Dispatcher::kDeepEp).buffers({plan.exchange, shape, 0, plan.exchange_units});
    return buffers.front().bytes;
  };
  const Bytes of_20 = nvlink(20);
  CHECK(price(op, cluster).duration.value() == Approx(70e-6));
  CHECK(units_held(plan, 18) == 20);
  const Bytes of_4 = nvlink(4);
  CHECK(price(op, cluster).duration.value() == Approx(200e-6));  // 8 MB at 4 x 10 GB/s
  CHECK(units_held(plan, 18) == 4);
  CHECK(of_20 / of_4 == Approx(5.0).epsilon(1e-4));  // channels are half of the units
}

TEST_CASE("between nodes deduplicated rows cross the network once a node", "[unit]") {
  // 16 ranks with one expert each, all chosen: a token's row goes to one other node.
  ExpertExchange op = to_all(Dispatcher::kDeepEp);
  op.group.size = op.experts = op.topk = 16;
  const ClusterSpec cluster = round_exchange_cluster(2);
  // 1 MB at 10 GB/s 100 us; inside 14 MB at 100 GB/s 140 us; 16 MB at 200 GB/s 80 us.
  CHECK(price(op, cluster).duration.value() == Approx(140e-6));
  // Without deduplication 8 MB leave: 800 us.
  op.dispatcher = Dispatcher::kDeepEpLowLatency;
  CHECK(price(op, cluster).duration.value() == Approx(8 * 1016.0 * 1000 / 10e9));
}

TEST_CASE("half of the link rate for rows passed on takes twice the time", "[unit]") {
  ExpertExchange op = to_all(Dispatcher::kDeepEp);
  op.group.size = op.experts = op.topk = 16;
  ClusterSpec cluster = round_exchange_cluster(2);
  cluster.device.exchange.of(Dispatcher::kDeepEp).relay_share = 0.5;
  CHECK(price(op, cluster).duration.value() == Approx(280e-6));
  op.group.size = 8;
  const Seconds inside = price(op, cluster).duration;
  cluster.device.exchange.of(Dispatcher::kDeepEp).relay_share = 1.0;
  CHECK(price(op, cluster).duration == inside);
}

TEST_CASE("all-to-all waits for the host at dispatch, but not with capacities", "[unit]") {
  const ClusterSpec cluster = round_exchange_cluster(1);
  const auto all_to_all = [&](Bytes bytes) {
    return make_ring_direct_collective()
        ->collective({CollectiveOp::kAllToAll, bytes, {8, 1}, Axis::kExpert}, {cluster})
        .duration;
  };
  ExpertExchange op = to_all(Dispatcher::kAllToAll);
  const Seconds rows = all_to_all(Bytes(8e6));
  const Seconds counts = all_to_all(Bytes(64));
  CHECK(price(op, cluster).duration.value() == Approx((rows + counts).value() + 5e-6));
  op.capacity_factor = 1.0;
  CHECK(price(op, cluster).duration.value() == Approx(rows.value()));
  op.phase = ExchangePhase::kCombine;
  CHECK(price(op, cluster).duration.value() == Approx(rows.value()));
}

TEST_CASE("sonic combines locally over HBM and takes the fastest primitive", "[unit]") {
  const ClusterSpec cluster = round_exchange_cluster(1);
  ExpertExchange op = to_all(Dispatcher::kSonic, ExchangePhase::kCombine);
  op.primitive = ExchangePrimitive::kRankDedup;
  // 70 us over links; 8 MB read and 8 MB written at 500 GB/s.
  CHECK(price(op, cluster).duration.value() == Approx(70e-6 + 32e-6));
  op.primitive = ExchangePrimitive::kAuto;
  CHECK(price(op, cluster).duration.value() == Approx(70e-6));  // all-to-all
}

TEST_CASE("sonic's auto crosses scale-up domains by node_dedup alone", "[unit]") {
  const ClusterSpec cluster = round_exchange_cluster(2);
  ExpertExchange op = to_all(Dispatcher::kSonic);
  op.group.size = op.experts = op.topk = 16;
  const OpCost chosen = price(op, cluster);
  CHECK(chosen.algorithm == "node_dedup");
  op.primitive = ExchangePrimitive::kNodeDedup;
  CHECK(price(op, cluster).duration == chosen.duration);
}

TEST_CASE("sonic's choice is the one that its profiler made on 4 GPUs", "[unit]") {
  ExpertExchange op;
  op.dispatcher = Dispatcher::kSonic;
  op.tokens = 32'768;
  op.hidden = 4096;
  op.experts = 128;
  op.topk = 8;
  op.group.size = 4;
  op.routing.kind = RoutingKind::kIndependent;
  for (const ExchangePhase phase : {ExchangePhase::kDispatch, ExchangePhase::kCombine}) {
    op.phase = phase;
    op.primitive = ExchangePrimitive::kRankDedup;
    const Seconds deduplicated = shipped_price(op, "b300").duration;
    CHECK(deduplicated.value() ==
          Approx(phase == ExchangePhase::kDispatch ? 1.10e-3 : 1.70e-3).epsilon(0.06));
    op.primitive = ExchangePrimitive::kAuto;
    CHECK(shipped_price(op, "b300").duration == deduplicated);
  }
}

TEST_CASE("DeepEP V2 takes the units that its tables state", "[unit]") {
  ExpertExchange op;
  op.dispatcher = Dispatcher::kDeepEpV2;
  op.tokens = 8192;
  op.hidden = 7168;
  op.experts = 256;
  op.topk = 8;
  op.dtype = Dtype::kFp8;
  const auto units = [&](std::int64_t ranks, const char* gpu) {
    op.group.size = ranks;
    return deepep_v2_units(op, cluster_of(test::shipped_gpu(gpu), 64));
  };
  CHECK(units(16, "h100_sxm") == 12);
  CHECK(units(32, "h100_sxm") == 6);
  CHECK(units(16, "b200") == 12);
  CHECK(units(8, "b200") == 24);
}

TEST_CASE("fp8 takes over half of the time of bf16 while units copy", "[unit]") {
  ExpertExchange op = to_all(Dispatcher::kDeepEp);
  op.tokens = 4096;
  op.hidden = 7168;
  op.experts = 256;
  op.compute_units = 16;
  const Seconds bf16 = shipped_price(op, "b200").duration;
  op.dtype = Dtype::kFp8;
  const double ratio = shipped_price(op, "b200").duration / bf16;
  CHECK(ratio > 0.6);
  CHECK(ratio < 0.8);
}

TEST_CASE("HybridEP's kernel reaches what its table of kernels says", "[unit]") {
  ExpertExchange op = to_all(Dispatcher::kHybridEp);
  op.tokens = 4096;
  op.hidden = 7168;
  op.experts = 256;
  const ClusterSpec cluster = cluster_of(test::shipped_gpu("b200"), 1);
  const auto kernel = [&](Dtype dtype) {
    op.dtype = dtype;
    const OpCost cost = price(op, cluster, Detail::kTerms);
    return cost.terms[0].duration + cost.terms[1].duration;
  };
  CHECK(kernel(Dtype::kBf16).value() == Approx(310.9e6 / 735e9).epsilon(0.05));
  CHECK(kernel(Dtype::kFp8).value() == Approx(160.3e6 / 599e9).epsilon(0.05));
}

TEST_CASE("MinimalAsyncEP pushes 140 GB/s over the links of H100", "[unit]") {
  ExpertExchange op = to_all(Dispatcher::kMinimalAsyncEp);
  op.tokens = 65'536;
  op.hidden = 2048;
  op.experts = 64;
  op.topk = 6;
  op.group.size = 4;
  const double wire = 65'536.0 * 6 * 4096 * 3 / 4;
  CHECK(wire / shipped_price(op, "h100_sxm").duration.value() == Approx(140e9).epsilon(0.01));
}

TEST_CASE("forced round robin makes deduplication 8 times lighter, uniform hardly", "[unit]") {
  ExpertExchange op = to_all(Dispatcher::kSonic);
  op.tokens = 65'536;
  op.hidden = 7168;
  op.experts = 256;
  op.group.size = 32;
  const auto gain = [&](RoutingKind kind) {
    op.routing.kind = kind;
    op.primitive = ExchangePrimitive::kAllToAll;
    const Seconds all = shipped_price(op, "gb200").duration;
    op.primitive = ExchangePrimitive::kRankDedup;
    return all / shipped_price(op, "gb200").duration;
  };
  CHECK(gain(RoutingKind::kRoundRobinForced) == Approx(8.0).epsilon(0.02));
  CHECK(gain(RoutingKind::kUniform) == Approx(8.0 / 7.2).epsilon(0.03));
}

TEST_CASE("the most loaded rank sets the pace", "[unit]") {
  ExpertExchange op = to_all(Dispatcher::kMinimalAsyncEp);
  op.topk = 1;
  const ClusterSpec cluster = round_exchange_cluster(1);
  const Seconds even = price(op, cluster).duration;
  op.routing.kind = RoutingKind::kCounts;
  op.routing.counts = {30, 10, 10, 10, 10, 10, 10, 10};
  CHECK(price(op, cluster).duration / even == Approx(2.4).epsilon(0.01));
}

}  // namespace
}  // namespace stepcast::exchange_cost_test
