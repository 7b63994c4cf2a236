// SPDX-License-Identifier: Apache-2.0
#include "stepcast/cost/cost_model.hpp"

#include "catch.hpp"

namespace stepcast::roofline_bound_test {
namespace {

using test::nearly;

// 100 units of 1000 FLOP/clk at 1 GHz are 100 TFLOP/s; HBM of 1 TB/s.
DeviceSpec round_device() {
  DeviceSpec device;
  device.compute_units = 100;
  device.matrix_rate[slot(Dtype::kBf16)] = FlopsPerCycle(1000);
  device.hbm.peak = BytesPerSecond(1e12);
  return device;
}
constexpr Hertz kClock{1e9};

double bound_of(const OpWork& work) {
  return roofline_bound({.work = work}, round_device(), kClock).value();
}

TEST_CASE("a large product is bound by its FLOPs at the clock of the price", "[unit]") {
  CHECK(bound_of(Gemm{8192, 8192, 8192}) == nearly(2.0 * 8192 * 8192 * 8192 / 100e12));
  const Op op{.work = Gemm{8192, 8192, 8192}};
  CHECK(roofline_bound(op, round_device(), 0.5 * kClock).value() ==
        nearly(2.0 * bound_of(op.work)));
}

TEST_CASE("a thin product is bound by the bytes of its operands", "[unit]") {
  // k = 1: m + n inputs and m n outputs of 2 bytes.
  CHECK(bound_of(Gemm{4096, 4096, 1}) == nearly(2.0 * (4096 + 4096 + 4096.0 * 4096) / 1e12));
}

TEST_CASE("a format that the part lacks has the rate of bf16", "[unit]") {
  Gemm op{8192, 8192, 8192};
  const double in_16_bits = bound_of(op);
  op.dtype = Dtype::kFp8;
  CHECK(bound_of(op) == in_16_bits);
}

TEST_CASE("a norm reads and writes its tensor, backward one more", "[unit]") {
  MemoryBound norm{MemoryBoundKind::kNorm, 1000, 1000};
  CHECK(bound_of(norm) == nearly(2 * 2e6 / 1e12));
  norm.direction = Direction::kBackward;
  CHECK(bound_of(norm) == nearly(3 * 2e6 / 1e12));
}

TEST_CASE("a collective has no roofline", "[unit]") {
  CHECK(bound_of(Collective{CollectiveOp::kAllReduce, Bytes(1e9), {8, 1}, Axis::kData}) == 0.0);
}

}  // namespace
}  // namespace stepcast::roofline_bound_test
