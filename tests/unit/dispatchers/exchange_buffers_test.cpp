// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/dispatcher_model.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/dispatchers/sonic.hpp"
#include "stepcast/layer/activation_inventory.hpp"
#include "stepcast/memory/memory_footprint.hpp"

namespace stepcast::exchange_buffers_test {
namespace {

using test::Sample;

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

ExchangeShape shape(std::int64_t tokens, std::int64_t hidden, std::int64_t topk,
                    std::int64_t experts, std::int64_t ranks, std::int64_t ranks_in_domain) {
  ExchangeShape shape;
  shape.tokens = tokens;
  shape.hidden = hidden;
  shape.topk = topk;
  shape.experts = experts;
  shape.ranks = ranks;
  shape.ranks_in_domain = ranks_in_domain;
  return shape;
}

std::vector<ExchangeBuffer> buffers_of(const ExchangeSpec& spec, const ExchangeShape& shape,
                                       std::int64_t rows = 0, std::int64_t units = 0) {
  return model_of(spec.dispatcher).buffers({spec, shape, rows, units});
}

Bytes part(const std::vector<ExchangeBuffer>& buffers, std::string_view name) {
  for (const ExchangeBuffer& buffer : buffers) {
    if (buffer.name == name) {
      return buffer.bytes;
    }
  }
  return Bytes(-1);
}

Bytes saved(const Sample& sample, TensorId id) {
  Bytes sum;
  for (const SavedTensor& tensor : saved_tensors(sample.context(), {.moe = true})) {
    sum += tensor.id == id ? tensor.bytes : Bytes{};
  }
  return sum;
}

// torchtitan pull request 3561: DeepSeek-V3 16B, EP 4, sequences of 4096, micro-batches of 4
// and 16.
TEST_CASE("MinimalAsyncEP has two receive buffers for the worst case", "[case]") {
  for (const auto& [batch, rows, gib] :
       {std::tuple{4, 393'216, 3.0}, std::tuple{16, 1'572'864, 12.0}}) {
    const ExchangeShape layer = shape(batch * 4096, 2048, 6, 64, 4, 4);
    CHECK(model_of(Dispatcher::kMinimalAsyncEp).worst_case_rows(layer) == rows);
    const auto buffers = buffers_of({.dispatcher = Dispatcher::kMinimalAsyncEp}, layer, rows);
    CHECK(part(buffers, "receive") == Bytes(gib * kGiB));
    CHECK(part(buffers, "counts") == Bytes(4 * 64 * 8));
  }
}

// sonic-moe pull request 54: W = 4, T = 32768, H = 4096, I = 1536, E = 128, k = 8.
Sample sonic_sample() {
  Sample sample = test::moe_sample();
  sample.model.hidden = 4096;
  sample.model.moe = test::experts(128, 8, 1536);
  sample.training.micro_batch_size = 8;
  sample.training.sequence_length = 4096;
  sample.plan.dp = 4;
  sample.plan.ep = 4;
  sample.plan.exchange.dispatcher = Dispatcher::kSonic;
  return sample;
}

TEST_CASE("SonicMoE's workspace is that of its publication", "[case]") {
  const ExchangeShape layer = shape(32'768, 4096, 8, 128, 4, 4);
  const std::int64_t rows = model_of(Dispatcher::kSonic).worst_case_rows(layer);
  CHECK(rows == 1'048'576);
  const auto buffers = buffers_of({.dispatcher = Dispatcher::kSonic}, layer, rows);
  CHECK(part(buffers, "input") == Bytes(0.25 * kGiB));
  CHECK(part(buffers, "output") == Bytes(8.0 * kGiB));
  CHECK(part(buffers, "receive") == Bytes(1.0 * kGiB));
  CHECK(part(buffers, "partial sums") == Bytes(1.0 * kGiB));
  CHECK(part(buffers, "indices") == Bytes((1'048'576 + 1'048'576) * 4));
  ExchangeSpec spec{.dispatcher = Dispatcher::kSonic};
  spec.dispatch_primitive = ExchangePrimitive::kAllToAll;
  spec.combine_primitive = ExchangePrimitive::kAllToAll;
  spec.redispatch_in_backward = true;
  const auto others = buffers_of(spec, layer, rows);
  CHECK(part(others, "receive") == Bytes(8.0 * kGiB));
  CHECK(part(others, "partial sums") == Bytes(-1));
  CHECK(part(others, "redispatch") == Bytes(1.25 * kGiB));
}

TEST_CASE("SonicMoE saves x once for all ranks and h for the worst case", "[case]") {
  Sample sample = sonic_sample();
  CHECK(saved(sample, TensorId::kExpertsInput) == Bytes(1.0 * kGiB));
  CHECK(saved(sample, TensorId::kMlpActivationInput) == Bytes(6.0 * kGiB));
  CHECK(saved(sample, TensorId::kMlpActivationOutput) == Bytes{});
  CHECK(saved(sample, TensorId::kMoeCombinedRows) == Bytes{});
  sample.plan.exchange.redispatch_in_backward = true;
  CHECK(saved(sample, TensorId::kExpertsInput) == Bytes(0.25 * kGiB));
  sample.plan.exchange.cpu_sync = CpuSync::kBlocking;
  CHECK(saved(sample, TensorId::kMlpActivationInput) == Bytes(1.5 * kGiB));
}

TEST_CASE("SonicMoE gathers for few ranks and deduplicates for many", "[unit]") {
  const ExchangeSpec spec{.dispatcher = Dispatcher::kSonic};
  CHECK(sonic_dispatch(spec, shape(8, 8, 8, 128, 4, 4)) == ExchangePrimitive::kAllGather);
  CHECK(sonic_combine(spec, shape(8, 8, 8, 128, 4, 4)) == ExchangePrimitive::kReduceScatter);
  CHECK(sonic_dispatch(spec, shape(8, 8, 8, 128, 8, 8)) == ExchangePrimitive::kRankDedup);
  CHECK(sonic_dispatch(spec, shape(8, 8, 8, 128, 16, 8)) == ExchangePrimitive::kNodeDedup);
}

// The example of its documentation: 64 ranks of 4096 tokens, H = 7168.
TEST_CASE("HybridEP holds the tokens of all ranks", "[case]") {
  const ExchangeSpec spec{.dispatcher = Dispatcher::kHybridEp};
  const auto one = buffers_of(spec, shape(4096, 7168, 8, 256, 64, 64));
  CHECK(part(one, "tokens") == Bytes(3.5 * kGiB));
  CHECK(part(one, "probabilities") == Bytes(64.0 * 4096 * 256 * 4));
  CHECK(part(one, "network") == Bytes(-1));
  const auto eight = buffers_of(spec, shape(4096, 7168, 8, 256, 64, 8));
  CHECK(part(eight, "probabilities") == Bytes(64.0 * 4096 * 32 * 4));
  CHECK(part(eight, "network") == Bytes(4096.0 * 7 * 7168 * 2));
}

TEST_CASE("DeepEP's buffers are its own size hints", "[case]") {
  const ExchangeSpec spec{.dispatcher = Dispatcher::kDeepEp};
  const auto inside = buffers_of(spec, shape(4096, 7168, 8, 256, 8, 8), 0, 24);  // 12 channels
  // 12 * 8 * 5 * 4 + 12 * 8 * 256 * (14336 + 8 + 2048), a multiple of 128
  CHECK(part(inside, "nvlink") == Bytes(402'851'712));
  CHECK(part(inside, "network") == Bytes(-1));
  const auto outside = buffers_of(spec, shape(4096, 7168, 8, 256, 16, 8), 0, 24);
  CHECK(part(outside, "nvlink") == Bytes(453'208'704));   // 12 * 8 * (7 * 4 + 288 * 16392)
  CHECK(part(outside, "network") == Bytes(111'313'792));  // 24 * 2 * (72 + 140 * 16408) + 2^20
  CHECK(part(buffers_of(spec, shape(4096, 7168, 8, 256, 8, 8), 0, 12), "nvlink") ==
        Bytes(201'425'920));  // half of it, rounded up to 128
}

TEST_CASE("low latency doubles a slot for every token and expert", "[case]") {
  const auto buffers =
      buffers_of({.dispatcher = Dispatcher::kDeepEpLowLatency}, shape(128, 7168, 8, 256, 8, 8));
  CHECK(part(buffers, "send") == Bytes(2.0 * 256 * 128 * 14'560));  // H 2 + H / 128 4
  CHECK(part(buffers, "receive") == Bytes(2.0 * 256 * 128 * 14'560));
  CHECK(part(buffers, "signals") == Bytes(2 * 2176));  // 256 * 8 + 32 * 4
  CHECK(total(buffers) == Bytes(1'908'412'672));
}

Sample exchanging(Dispatcher dispatcher) {
  Sample sample = test::moe_sample();  // T = 1024, H = 1024, 2 of 16 experts
  sample.plan.dp = 4;
  sample.plan.ep = 4;
  sample.plan.exchange.dispatcher = dispatcher;
  return sample;
}

TEST_CASE("the receive buffer holds what arrives, what could arrive, or a capacity", "[unit]") {
  Sample sample = exchanging(Dispatcher::kHybridEp);
  ExchangeSpec& spec = sample.plan.exchange;
  CHECK(buffer_rows(sample.context()) == 2048);  // T k
  spec.receive_buffer = ReceiveBuffer::kWorstCase;
  CHECK(buffer_rows(sample.context()) == 8192);  // W T min(k, E_l)
  spec.receive_buffer = ReceiveBuffer::kCapacity;
  spec.capacity_factor = 0.3;
  CHECK(buffer_rows(sample.context()) == 2458);  // 2457.6 rounded up
  spec.pad_multiple = 128;
  CHECK(buffer_rows(sample.context()) == 2560);
  CHECK(expert_rows(sample.context()) == 2048);  // 512 an expert, a multiple already
}

TEST_CASE("a padded capacity of alltoall is a number of rows for each expert and rank", "[unit]") {
  Sample sample = exchanging(Dispatcher::kAllToAll);
  sample.plan.exchange.receive_buffer = ReceiveBuffer::kCapacity;
  sample.plan.exchange.capacity_factor = 1.01;
  const ExchangeShape layer = exchange_shape(sample.context());
  CHECK(expert_capacity(layer, 1.01) == 130);  // ceil(1024 * 2 / 16 * 1.01)
  CHECK(sent_rows(sample.plan.exchange, layer) == 16 * 130);
  CHECK(expert_rows(sample.context()) == 16 * 130);
  CHECK(total(exchange_buffers(sample.context())) == Bytes(2 * 16 * 130 * 1024 * 2));
}

TEST_CASE("rows of an expert are padded to a multiple where the product computes them", "[unit]") {
  Sample sample = exchanging(Dispatcher::kHybridEp);
  sample.plan.exchange.pad_multiple = 300;
  CHECK(expert_rows(sample.context()) == 4 * 600);  // 512 rows each
  sample.plan.exchange.dispatcher = Dispatcher::kMinimalAsyncEp;
  CHECK(expert_rows(sample.context()) == 2048);  // skips what lies behind an expert's last row
}

TEST_CASE("the dispatcher's memory counts as buffers of the footprint", "[unit]") {
  Sample usual = exchanging(Dispatcher::kAllToAll);
  CHECK(total(exchange_buffers(usual.context())) == Bytes(2.0 * 2048 * 1024 * 2));
  Sample sample = exchanging(Dispatcher::kMinimalAsyncEp);
  const Bytes expected = Bytes(2.0 * 8192 * 1024 * 2 + 4 * 16 * 8);
  CHECK(total(exchange_buffers(sample.context())) == expected);
  CHECK(memory_by_stage(sample.context()).front().exchange == expected);
  sample.plan.ep = 1;
  CHECK(exchange_buffers(sample.context()).empty());
}

TEST_CASE("rows summed where the experts are come back without anything to keep", "[unit]") {
  CHECK(saved(exchanging(Dispatcher::kAllToAll), TensorId::kMoeCombinedRows) ==
        Bytes(2048 * 1024 * 2));
  for (const Dispatcher dispatcher :
       {Dispatcher::kAllGather, Dispatcher::kDeepEp, Dispatcher::kHybridEp}) {
    CHECK(saved(exchanging(dispatcher), TensorId::kMoeCombinedRows) == Bytes{});
    CHECK(saved(exchanging(dispatcher), TensorId::kExpertsInput) == Bytes(2048 * 1024 * 2));
  }
}

}  // namespace
}  // namespace stepcast::exchange_buffers_test
