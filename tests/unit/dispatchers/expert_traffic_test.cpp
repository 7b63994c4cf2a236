// SPDX-License-Identifier: Apache-2.0
#include "stepcast/dispatchers/expert_traffic.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/layer/dispatcher_model.hpp"
#include "stepcast/operator_lines/op_text.hpp"

namespace stepcast::expert_traffic_test {
namespace {

// SonicMoE's published run: 4 ranks of 32,768 tokens, H = 4096, 8 of 128 experts, bf16.
ExpertExchange sonic(ExchangePrimitive primitive, ExchangePhase phase = ExchangePhase::kDispatch) {
  ExpertExchange op;
  op.phase = phase;
  op.dispatcher = Dispatcher::kSonic;
  op.primitive = primitive;
  op.tokens = 32'768;
  op.hidden = 4096;
  op.experts = 128;
  op.topk = 8;
  op.group.size = 4;
  op.routing.kind = RoutingKind::kIndependent;
  return op;
}

ExpertExchange deepseek(Dispatcher dispatcher, std::int64_t ranks) {
  ExpertExchange op;
  op.dispatcher = dispatcher;
  op.tokens = 4096;
  op.hidden = 7168;
  op.experts = 256;
  op.topk = 8;
  op.group.size = ranks;
  op.dtype = Dtype::kFp8;
  return op;
}

TEST_CASE("bytes of SonicMoE's primitives are those of its profiler", "[unit]") {
  const auto wire = [](ExchangePrimitive primitive, ExchangePhase phase) {
    return expert_traffic(sonic(primitive, phase), 8).wire;
  };
  using enum ExchangePhase;
  CHECK(wire(ExchangePrimitive::kAllGather, kDispatch) == Bytes(805'306'368));
  CHECK(wire(ExchangePrimitive::kAllToAll, kDispatch) == Bytes(1'610'612'736));
  CHECK(wire(ExchangePrimitive::kRankDedup, kDispatch) == Bytes(724'684'800));
  CHECK(wire(ExchangePrimitive::kAllToAll, kCombine) == Bytes(1'610'612'736));
  CHECK(wire(ExchangePrimitive::kReduceScatter, kCombine) == Bytes(805'306'368));
  CHECK(wire(ExchangePrimitive::kRankDedup, kCombine) == Bytes(724'684'800));
}

TEST_CASE("rows in fp8 carry a scale of 4 bytes for 128 values, combined ones 16 bits", "[unit]") {
  ExpertExchange op = deepseek(Dispatcher::kDeepEp, 8);
  CHECK(exchange_row(op) == Bytes(7392));
  op.dispatcher = Dispatcher::kDeepEpLowLatency;
  CHECK(exchange_row(op) == Bytes(7408));
  op.phase = ExchangePhase::kCombine;
  CHECK(exchange_row(op) == Bytes(14336));
  op.dtype = Dtype::kFp32;
  CHECK(exchange_row(op) == Bytes(28672));
}

TEST_CASE("logical bytes within a node are 160.3 MB, of which 7/8 cross links", "[unit]") {
  const ExchangeTraffic traffic = expert_traffic(deepseek(Dispatcher::kDeepEp, 8), 8);
  CHECK(traffic.logical.value() == Approx(160.3e6).epsilon(1e-3));
  CHECK(traffic.wire.value() == Approx(160.3e6 * 7 / 8).epsilon(1e-3));
  CHECK(traffic.tensor == Bytes(4096.0 * 7168.0));
  CHECK(traffic.rows_outside == 0.0);
}

TEST_CASE("between nodes a row goes once to each node and then to each rank", "[unit]") {
  const ExchangeTraffic traffic = expert_traffic(deepseek(Dispatcher::kDeepEp, 32), 8);
  CHECK(traffic.domains == 4);
  CHECK(traffic.node_rows == Approx(4096 * 3.6142).epsilon(1e-3));
  CHECK(traffic.rows_outside == Approx(4096 * 3.6142 * 0.75).epsilon(1e-3));
  CHECK(traffic.rows_inside == Approx(traffic.rows * 7 / 8));
  CHECK(traffic.logical.value() == Approx(4096 * 3.6142 * 7392).epsilon(1e-3));
}

TEST_CASE("tensor parallelism strides the ranks, so that fewer share a node", "[unit]") {
  ExpertExchange op = deepseek(Dispatcher::kAllToAll, 8);
  op.group.stride = 4;
  const ExchangeTraffic traffic = expert_traffic(op, 8);
  CHECK(traffic.members == 2);
  CHECK(traffic.domains == 4);
  CHECK(traffic.rows_inside == 4096.0 * 8 / 8);
  CHECK(traffic.rows_outside == 4096.0 * 8 * 6 / 8);
}

TEST_CASE("forced round robin sends 8 rows by all-to-all and 1 deduplicated", "[unit]") {
  ExpertExchange op = deepseek(Dispatcher::kAllToAll, 32);
  op.dtype = Dtype::kBf16;
  op.routing.kind = RoutingKind::kRoundRobinForced;
  const ExchangeTraffic all = expert_traffic(op, 8);
  CHECK(all.logical == Bytes(4096.0 * 8 * 14336));  // 470 MB
  op.dispatcher = Dispatcher::kDeepEp;
  CHECK(expert_traffic(op, 8).logical == Bytes(4096.0 * 14336));  // 58.7 MB
}

TEST_CASE("the most loaded rank is known for skewed experts", "[unit]") {
  ExpertExchange op = deepseek(Dispatcher::kAllToAll, 4);
  CHECK(expert_traffic(op, 8).inside_peak == Approx(1.0));
  op.experts = 4;
  op.topk = 1;
  op.routing.kind = RoutingKind::kCounts;
  op.routing.counts = {70, 10, 10, 10};
  CHECK(expert_traffic(op, 8).inside_peak == Approx(2.8).epsilon(1e-3));
}

TEST_CASE("tensor bytes of combine are the rows that dispatch brought", "[unit]") {
  ExpertExchange op = deepseek(Dispatcher::kAllToAll, 8);
  op.phase = ExchangePhase::kCombine;
  CHECK(expert_traffic(op, 8).tensor == Bytes(4096.0 * 8 * 7168 * 2));
}

TEST_CASE("an all-to-all of experts that is a collective has three counts of bytes as well",
          "[unit]") {
  const Collective tokens{CollectiveOp::kAllToAll, Bytes(800), {8, 1}, Axis::kExpert};
  const Op op{OpId::kMoeDispatch, tokens, Block::kRoutedExperts};
  const CommunicationBytes bytes = expert_communication_bytes(op, 8);
  CHECK(bytes.tensor == Bytes(800));
  CHECK(bytes.logical == Bytes(800));
  CHECK(bytes.wire == Bytes(700));  // an eighth stays
  Collective gradients = tokens;
  gradients.axis = Axis::kData;
  CHECK(expert_communication_bytes({OpId::kFsdpReduce, gradients, Block::kDataParallel}, 8).wire ==
        Bytes{});
  CHECK(category_name(op) == "EP communication");
  CHECK(category_name({OpId::kFsdpReduce, gradients, Block::kDataParallel}) == "collective");
  CHECK(category_name({OpId::kMlpDown, Gemm{}, Block::kDense}) == "GEMM");
}

TEST_CASE("an exchange is counted by the primitive that ran", "[unit]") {
  const ClusterSpec cluster = cluster_of(test::shipped_gpu("gb300"), 2);
  const auto op = [](Dispatcher dispatcher, ExchangePrimitive primitive) {
    ExpertExchange exchange = deepseek(dispatcher, 8);
    exchange.primitive = primitive;
    return Op{OpId::kMoeDispatch, exchange, Block::kRoutedExperts};
  };
  const auto wire = [&](ExchangePrimitive primitive) {
    return expert_communication_bytes(as_run(op(Dispatcher::kSonic, primitive), cluster), 8)
        .wire.value();
  };
  CHECK(wire(ExchangePrimitive::kAllGather) == Approx(4096.0 * 7 * 7392));  // fp8, scales of 128
  CHECK(wire(ExchangePrimitive::kAllToAll) == Approx(4096.0 * 8 * 7 / 8 * 7392));
  // Of `auto` the fastest ran; a dispatcher without a choice keeps what it has.
  const ExpertExchange open = deepseek(Dispatcher::kSonic, 8);
  const ExchangePrimitive fastest = chosen_primitive(open, cluster);
  CHECK(fastest != ExchangePrimitive::kAuto);
  CHECK(wire(ExchangePrimitive::kAuto) == Approx(wire(fastest)));
  const Op deepep = op(Dispatcher::kDeepEp, ExchangePrimitive::kAuto);
  CHECK(as_run(deepep, cluster).work == deepep.work);
}

}  // namespace
}  // namespace stepcast::expert_traffic_test
