// SPDX-License-Identifier: Apache-2.0
// Prices of linear attention, of attention over chosen keys and of an indexer, by hand.
#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast::mixer_price_test {
namespace {

constexpr Hertz kClock{1e9};

// Ten units of 4,096 FLOPs a cycle at 1 GHz, memory of 1 TB/s, nothing lost on the way.
DeviceSpec round_part() {
  DeviceSpec device;
  device.compute_units = 10;
  device.clock.peak = kClock;
  device.clock.rated = kClock;
  device.matrix_rate[slot(Dtype::kBf16)] = FlopsPerCycle(4096.0);
  device.hbm.peak = BytesPerSecond(1e12);
  device.hbm.achieved = BytesPerSecond(1e12);
  device.kernels.memory.unit_bandwidth = BytesPerSecond(1e12);
  device.kernels.linear_attention = {.chunk_efficiency = 1.0,
                                     .gradient_efficiency = 1.0,
                                     .inverse_cycles = 0.0,
                                     .decay_cycles = 0.0,
                                     .step_cycles = 0.0,
                                     .step_channel_cycles = 0.0,
                                     .hbm_share = 1.0};
  return device;
}

KernelContext on(const DeviceSpec& device, std::int64_t units = 10) {
  return {device, kClock, units, {}, Detail::kTerms};
}

Seconds term(const OpCost& cost, std::string_view name) {
  Seconds sum;
  for (const CostTerm& part : cost.terms) {
    sum += part.name == name ? part.duration : Seconds{};
  }
  return sum;
}

LinearAttention one_head(std::int64_t seq) {
  LinearAttention op;
  op.batch = 1;
  op.seq = seq;
  op.heads = 1;
  op.qk_heads = 1;
  op.d_k = 64;
  op.d_v = 64;
  return op;
}

TEST_CASE("the state of one head is a chain of a step a chunk, on however many units", "[unit]") {
  DeviceSpec device = round_part();
  device.kernels.linear_attention.step_cycles = 360.0;
  device.kernels.linear_attention.step_channel_cycles = 10.0;
  const LinearAttention op = one_head(128 * 64);
  // 128 steps of two products of 360 + 64 * 10 cycles.
  const OpCost cost = make_tile_attention()->linear_attention(op, on(device));
  CHECK(term(cost, "state").value() == Approx(128.0 * 2.0 * 1000.0 * 1e-9));
  CHECK(cost.bound == Bound::kLatency);
  LinearAttention ten = op;
  ten.heads = 10;
  ten.qk_heads = 10;
  CHECK(term(make_tile_attention()->linear_attention(ten, on(device)), "state") ==
        term(cost, "state"));
  // An eleventh head waits for a unit.
  ten.heads = 11;
  ten.qk_heads = 11;
  CHECK(term(make_tile_attention()->linear_attention(ten, on(device)), "state").value() ==
        Approx(2.0 * term(cost, "state").value()));
}

TEST_CASE("kernels of all chunks share the units, and none is faster than its bytes", "[unit]") {
  DeviceSpec device = round_part();
  device.kernels.linear_attention.inverse_cycles = 1e5;
  const LinearAttention op = one_head(100 * 64);
  const OpCost cost = make_tile_attention()->linear_attention(op, on(device));
  // 100 chunks over 10 units: ten inverses of 1e5 cycles each and ten products of 2 * 64^3 FLOPs.
  CHECK(term(cost, "inverse").value() == Approx(10.0 * (1e5 + 128.0) * 1e-9));
  // Output: q, k, V' and o of 6,400 x 64 values and 100 states of 64 x 64, 2 bytes each.
  CHECK(term(cost, "output").value() == Approx(2.0 * (4.0 * 6400.0 * 64.0 + 409600.0) / 1e12));
}

SparseAttention listed(Direction direction) {
  SparseAttention op;
  op.batch = 1;
  op.seq_q = 1000;
  op.seq_kv = 1000;
  op.heads = 64;
  op.d_qk = 512;
  op.d_v = 512;
  op.chosen = 100;
  op.direction = direction;
  return op;
}

TEST_CASE("attention over chosen keys computes whole lists and waits for its own rows", "[unit]") {
  DeviceSpec device = round_part();
  device.kernels.sparse_attention.forward_efficiency = 0.5;
  const SparseAttention op = listed(Direction::kForward);
  // 2 * 1000 * 64 * 100 * 1024 FLOPs at half of 10 * 4.096 TFLOP/s, then the bytes of q, o, k.
  const double products = 2.0 * 1000.0 * 64.0 * 100.0 * 1024.0 / (0.5 * 10.0 * 4.096e12);
  const double rows = compulsory_bytes(op).value() / 1e12;
  const OpCost cost = make_tile_attention()->sparse_attention(op, on(device));
  CHECK(cost.duration.value() == Approx(products + rows));
  // On half of the units the products take twice as long.
  CHECK(make_tile_attention()->sparse_attention(op, on(device, 5)).duration.value() ==
        Approx(2.0 * products + rows));
}

TEST_CASE("Triton's attention over chosen keys has constants of its own", "[unit]") {
  DeviceSpec device = round_part();
  SparseAttention op = listed(Direction::kForward);
  op.kernel = SparseKernel::kTriton;
  CHECK_THROWS_AS(make_tile_attention()->sparse_attention(op, on(device)), InternalError);
  device.kernels.sparse_attention_triton = device.kernels.sparse_attention;
  device.kernels.sparse_attention_triton->forward_efficiency =
      0.5 * device.kernels.sparse_attention.forward_efficiency;
  const Seconds rows(compulsory_bytes(op).value() / 1e12);
  const Seconds triton = make_tile_attention()->sparse_attention(op, on(device)).duration - rows;
  op.kernel = SparseKernel::kLibrary;
  const Seconds library = make_tile_attention()->sparse_attention(op, on(device)).duration - rows;
  CHECK(triton / library == Approx(2.0));
}

TEST_CASE("backward adds gradients of chosen keys for every 32 heads", "[unit]") {
  DeviceSpec device = round_part();
  device.kernels.sparse_attention.backward_efficiency = 1.0;
  device.kernels.sparse_attention.reduction_rate = BytesPerSecond(1e12);
  const OpCost cost =
      make_tile_attention()->sparse_attention(listed(Direction::kBackward), on(device));
  const double products = 2.0 * 1000.0 * 64.0 * 100.0 * 2560.0 / (10.0 * 4.096e12);
  const double added = 1000.0 * 2.0 * 100.0 * 512.0 * 4.0 / 1e12;
  CHECK(term(cost, "attention").value() == Approx(products + added));
  CHECK(cost.launches == 4.0);
}

TEST_CASE("an indexer's choice takes cycles a query and passes over all scores", "[unit]") {
  DeviceSpec device = round_part();
  device.kernels.sparse_attention.index_efficiency = 1.0;
  device.kernels.sparse_attention.choice_passes = 2.0;
  device.kernels.sparse_attention.choice_cycles = 1000.0;
  IndexScores op;
  op.batch = 1;
  op.seq_q = 1000;
  op.seq_kv = 1000;
  op.heads = 32;
  op.d = 128;
  op.chosen = 100;
  const OpCost cost = make_tile_attention()->index_scores(op, on(device));
  CHECK(term(cost, "scores").value() == Approx(2.0 * 500500.0 * 32.0 * 128.0 / (10.0 * 4.096e12)));
  CHECK(term(cost, "choice").value() == Approx(1000.0 * 1000.0 / 10.0 * 1e-9 + 8e6 / 1e12));
}

}  // namespace
}  // namespace stepcast::mixer_price_test
