// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast::memory_passes_test {
namespace {

// Round numbers: 1 TB/s, 100 units at 1 GHz, no start-up.
DeviceSpec plain_device() {
  DeviceSpec device = test::shipped_gpu("h200_sxm");
  device.compute_units = 100;
  device.clock.peak = Hertz(1e9);
  device.hbm.peak = BytesPerSecond(1.2e12);
  device.hbm.achieved = BytesPerSecond(1e12);
  device.l2 = {Bytes(40e6), 1, BytesPerSecond(4e12)};
  device.mall.reset();
  MemoryConstants& memory = device.kernels.memory;
  memory.ramp = Seconds{};
  memory.unit_bandwidth = BytesPerSecond(12.5e9);
  memory.streaming = 1.0;
  memory.gather = 0.5;
  memory.cache_share = 0.5;
  memory.indexed_cycles = 1.0;
  memory.update_cycles = 0.5;
  memory.row_cycles = 0.0;
  return device;
}

OpCost cost(const DeviceSpec& device, const MemoryBound& op, std::int64_t units = 0,
            Seconds launch = {}, Detail detail = Detail::kDuration) {
  const KernelContext context{device, device.clock.peak, units > 0 ? units : device.compute_units,
                              launch, detail};
  return make_passes_memory_bound()->memory_bound(op, context);
}

double microseconds(const DeviceSpec& device, const MemoryBound& op, std::int64_t units = 0) {
  return 1e6 * cost(device, op, units).duration.value();
}

MemoryBound op_of(MemoryBoundKind kind, std::int64_t rows, std::int64_t cols,
                  Implementation implementation = Implementation::kFused,
                  Direction direction = Direction::kForward, Bytes element = Bytes(2)) {
  return {kind, rows, cols, element, direction, implementation};
}

TEST_CASE("a kernel that walks along rows takes what one row takes until they fill the units",
          "[unit]") {
  DeviceSpec device = plain_device();
  device.kernels.memory.convert_cycles = 10.0;
  const auto quantized = [&device](std::int64_t rows) {
    return microseconds(device, op_of(MemoryBoundKind::kServedQuantizeFp4, rows, 1'000));
  };
  // 1,000 rows fill 100 units: 1.41 x 10 cycles for each of 10,000 values of a unit.
  CHECK(quantized(1'000) == Approx(141.0));
  CHECK(quantized(1) == Approx(141.0));
  CHECK(quantized(500) == Approx(141.0));
  CHECK(quantized(2'000) == Approx(282.0));
}

// 50,000 x 1,000 values of 2 bytes are 100 MB, and 100 us a pass at 1 TB/s.
TEST_CASE("a copy reads and writes its tensor once", "[unit]") {
  const DeviceSpec device = plain_device();
  CHECK(microseconds(device, op_of(MemoryBoundKind::kCopy, 50'000, 1'000)) == Approx(200.0));
  CHECK(microseconds(device, op_of(MemoryBoundKind::kResidual, 50'000, 1'000)) == Approx(300.0));
  CHECK(microseconds(device, op_of(MemoryBoundKind::kGatedActivation, 50'000, 1'000)) ==
        Approx(300.0));
  CHECK(microseconds(device, op_of(MemoryBoundKind::kGatedActivation, 50'000, 1'000,
                                   Implementation::kFused, Direction::kBackward)) == Approx(500.0));
}

// 100 us a pass of 2 bytes a value, 100 MB at 1 TB/s, and 500 us for what goes by 50 million values
// at one a cycle: in fp32 a sum of kept residuals is joined and converted, 2 at 500 us, squared and
// scaled by two factors, 3 at 400, and read for a mean, a sum and the product, 3 at 200.
TEST_CASE("an eager sum of kept residuals passes over them in fp32", "[unit]") {
  const DeviceSpec device = plain_device();
  CHECK(microseconds(device, op_of(MemoryBoundKind::kResidualSum, 50'000, 1'000)) == Approx(125.0));
  CHECK(microseconds(device,
                     op_of(MemoryBoundKind::kResidualSum, 50'000, 1'000, Implementation::kEager)) ==
        Approx(2 * 500.0 + 3 * 400.0 + 600.0));
}

// Inputs to fp32 and the result back, 3 at 500 us; seven passes of one fp32 tensor into another at
// 400; two products at 600.
TEST_CASE("an eager soft clamp costs a pass for each function of an input", "[unit]") {
  const DeviceSpec device = plain_device();
  const MemoryBound fused = op_of(MemoryBoundKind::kSoftClampedActivation, 50'000, 1'000);
  CHECK(microseconds(device, fused) == Approx(300.0));
  CHECK(microseconds(device, op_of(MemoryBoundKind::kSoftClampedActivation, 50'000, 1'000,
                                   Implementation::kEager)) ==
        Approx(3 * 500.0 + 7 * 400.0 + 2 * 600.0));
}

// 100 us a pass, 500 for every value at one a cycle. Two halves cut at 250 and joined at 200;
// backward three comparisons of a half at 225, both marks of one half together at 37.5, a choice
// for each half at 250, joined at 200.
TEST_CASE("an eager clamp goes half by half and joins both", "[unit]") {
  const DeviceSpec device = plain_device();
  const auto took = [&device](Direction direction) {
    return microseconds(
        device, op_of(MemoryBoundKind::kClamp, 50'000, 1'000, Implementation::kEager, direction));
  };
  CHECK(took(Direction::kForward) == Approx(2 * 250.0 + 200.0));
  CHECK(took(Direction::kBackward) == Approx(3 * 225.0 + 37.5 + 2 * 250.0 + 200.0));
}

// The product of bias and weight at 500, the sum at 300, joined at 200; backward two products at
// 500, their sums at 100 and the rows joined at 200.
TEST_CASE("an eager bias of experts is a product, a sum and a copy", "[unit]") {
  const DeviceSpec device = plain_device();
  const auto took = [&device](Direction direction) {
    return microseconds(device, op_of(MemoryBoundKind::kExpertBias, 50'000, 1'000,
                                      Implementation::kEager, direction));
  };
  CHECK(took(Direction::kForward) == Approx(500.0 + 300.0 + 200.0));
  CHECK(took(Direction::kBackward) == Approx(2 * 500.0 + 2 * 100.0 + 200.0));
}

TEST_CASE("rows in another order move at the gather's share of the rate", "[unit]") {
  CHECK(microseconds(plain_device(), op_of(MemoryBoundKind::kGather, 50'000, 1'000)) ==
        Approx(400.0));
}

// 1,600 rows of 2 kB in flight fit in 20 MB, so that x is read again at 4 TB/s; 1,600 rows of 20 kB
// do not.
TEST_CASE("a norm reads its rows again, from the cache while they fit", "[unit]") {
  const DeviceSpec device = plain_device();
  CHECK(microseconds(device, op_of(MemoryBoundKind::kNorm, 50'000, 1'000)) == Approx(225.0));
  CHECK(microseconds(device, op_of(MemoryBoundKind::kNorm, 5'000, 10'000)) == Approx(300.0));
}

// 50 million values at one a cycle and unit, 1e11 a second, take 500 us; their 300 MB only 300.
TEST_CASE("conversion to fp32 goes by values, conversion from fp32 by bytes", "[unit]") {
  const DeviceSpec device = plain_device();
  const MemoryBound up = op_of(MemoryBoundKind::kCastUp, 50'000, 1'000, Implementation::kEager);
  CHECK(microseconds(device, up) == Approx(500.0));
  CHECK(cost(device, up).bound == Bound::kCompute);
  CHECK(microseconds(device, op_of(MemoryBoundKind::kCast, 50'000, 1'000,
                                   Implementation::kEager)) == Approx(300.0));
  DeviceSpec faster = device;
  faster.clock.peak = Hertz(2e9);
  CHECK(microseconds(faster, up) == Approx(300.0));
}

// 28 bytes a parameter at 1 TB/s are 28 ps, half a cycle of 100 units at 1 GHz 5 ps more.
TEST_CASE("a fused Adam step pays for its traffic and for its arithmetic", "[unit]") {
  CHECK(microseconds(plain_device(),
                     op_of(MemoryBoundKind::kOptimizer, 1, 1'000'000, Implementation::kFused,
                           Direction::kForward, Bytes(4))) == Approx(33.0));
}

// 40 units with 12.5 GB/s each keep 0.5 TB/s in flight; 80 and 100 more than HBM achieves.
TEST_CASE("too few compute units do not fill the memory", "[unit]") {
  const DeviceSpec device = plain_device();
  const MemoryBound copy = op_of(MemoryBoundKind::kCopy, 50'000, 1'000);
  CHECK(microseconds(device, copy, 40) == Approx(400.0));
  CHECK(microseconds(device, copy, 80) == Approx(200.0));
}

TEST_CASE("a small tensor pays the ramp and each kernel a launch", "[unit]") {
  DeviceSpec device = plain_device();
  device.kernels.memory.ramp = Seconds(1e-6);
  const MemoryBound copy = op_of(MemoryBoundKind::kCopy, 1, 1);
  const OpCost once = cost(device, copy, 0, Seconds(2e-6));
  CHECK(once.duration.value() == Approx(3e-6).epsilon(1e-4));
  CHECK(once.bound == Bound::kLatency);
  // silu and product are two kernels.
  const MemoryBound eager = op_of(MemoryBoundKind::kGatedActivation, 1, 1, Implementation::kEager);
  CHECK(cost(device, eager, 0, Seconds(2e-6)).duration.value() == Approx(6e-6).epsilon(1e-4));
}

TEST_CASE("a short convolution's backward takes cycles for each tap, more with SiLU", "[unit]") {
  DeviceSpec device = plain_device();
  device.kernels.memory.arithmetic_cycles = 1.0;
  const auto backward = [&device](MemoryBoundKind kind, std::int64_t taps) {
    MemoryBound op = op_of(kind, 100'000, 1'000, Implementation::kFused, Direction::kBackward);
    op.taps = taps;
    return microseconds(device, op);
  };
  // 100 million values on 100 units at 1 GHz: 1 ms a cycle, and sums of a tenth of a pass.
  const auto plain = MemoryBoundKind::kShortConvolution;
  const auto silu = MemoryBoundKind::kActivatedConvolution;
  CHECK(backward(plain, 4) - backward(plain, 3) == Approx(660.0));
  CHECK(backward(plain, 4) == Approx(4.0 * 660.0 + 20.0));
  // With SiLU the results are made again first: two passes of 200 us.
  CHECK(backward(silu, 4) == Approx(4.0 * 1'085.0 + 400.0 + 20.0));
  // One tap is bound by three passes.
  CHECK(backward(plain, 1) == Approx(660.0 + 20.0));
}

TEST_CASE("operands left in the cache move at its rate, larger ones do not", "[unit]") {
  const DeviceSpec device = plain_device();
  MemoryBound small = op_of(MemoryBoundKind::kCopy, 4'000, 1'000);  // 16 MB in all
  CHECK(microseconds(device, small) == Approx(16.0));
  small.resident = true;
  CHECK(microseconds(device, small) == Approx(4.0));
  CHECK(cost(device, small).energy == Joules{});
  MemoryBound large = op_of(MemoryBoundKind::kCopy, 50'000, 1'000);
  large.resident = true;
  CHECK(microseconds(device, large) == Approx(200.0));
}

TEST_CASE("energy is that of the bytes from and to HBM", "[unit]") {
  DeviceSpec device = plain_device();
  device.kernels.power.hbm_energy = Joules(1e-11);
  CHECK(cost(device, op_of(MemoryBoundKind::kCopy, 50'000, 1'000)).energy.value() == Approx(2e-3));
}

constexpr int kKinds = static_cast<int>(kMemoryBoundKinds);

// Every kind, implementation and direction on parts of both vendors.
template <typename Check>
void for_each_operator(const Check& check) {
  for (const char* gpu : {"a100_80gb", "h200_sxm", "b200", "mi300x", "mi355x"}) {
    const DeviceSpec device = test::shipped_gpu(gpu);
    for (int kind = 0; kind < kKinds; ++kind) {
      for (const Implementation implementation :
           {Implementation::kFused, Implementation::kCompiled, Implementation::kEager}) {
        for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
          INFO(gpu << " " << name(static_cast<MemoryBoundKind>(kind)) << " "
                   << name(implementation));
          check(device,
                op_of(static_cast<MemoryBoundKind>(kind), 8192, 4096, implementation, direction));
        }
      }
    }
  }
}

TEST_CASE("the terms of a memory-bound operator add up to its duration", "[property]") {
  for_each_operator([](const DeviceSpec& device, const MemoryBound& op) {
    const OpCost price = cost(device, op, 0, device.launch_latency, Detail::kTerms);
    Seconds sum;
    for (const CostTerm& term : price.terms) {
      sum += term.duration;
    }
    REQUIRE(price.duration > Seconds{});
    REQUIRE(sum.value() == Approx(price.duration.value()).epsilon(1e-9));
  });
}

TEST_CASE("more rows or columns never cost less", "[property]") {
  for_each_operator([](const DeviceSpec& device, MemoryBound op) {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> exponent(0.0, 18.0);
    for (int i = 0; i < 20; ++i) {
      op.rows = static_cast<std::int64_t>(std::exp2(exponent(random)));
      op.cols = static_cast<std::int64_t>(std::exp2(exponent(random)));
      const Seconds base = cost(device, op).duration;
      MemoryBound taller = op;
      taller.rows = op.rows * 9 / 8 + 1;
      MemoryBound wider = op;
      wider.cols = op.cols * 9 / 8 + 1;
      REQUIRE(cost(device, taller).duration >= base);
      REQUIRE(cost(device, wider).duration >= base);
    }
  });
}

TEST_CASE("no large copy, sum or cast runs faster than HBM at its peak", "[property]") {
  for_each_operator([](const DeviceSpec& device, MemoryBound op) {
    op.rows = 1 << 20;
    const double pass = static_cast<double>(op.rows) * static_cast<double>(op.cols) * 2.0;
    const Seconds one_pass = Bytes(pass) / device.hbm.peak;
    REQUIRE(cost(device, op).duration >= one_pass);
  });
}

// Kernels of torchtitan's traces on an H100 (sources of hardware_profiles/libraries.yaml): rows,
// channels, microseconds, forward then backward, sorts of 55 us with them.
TEST_CASE("rows of torchtitan's experts take what its kernels took", "[unit]") {
  struct Traced {
    MemoryBoundKind kind;
    std::int64_t rows;
    std::int64_t cols;
    double forward;
    double backward;
  };
  using Kind = MemoryBoundKind;
  const DeviceSpec device = test::shipped_gpu("h100_sxm");
  for (const Traced& traced : {Traced{Kind::kRowsTaken, 32'768, 7'168, 286.0, 691.0},
                               Traced{Kind::kRowsGathered, 32'768, 7'168, 659.0, 1'348.0},
                               Traced{Kind::kRowsPut, 32'768, 7'168, 1'103.0, 340.0},
                               Traced{Kind::kRowsWeighted, 32'768, 7'168, 2'527.0, 1'130.0},
                               Traced{Kind::kRowsOuter, 4'096, 7'168, 1'600.0, 1'600.0},
                               Traced{Kind::kRowsGathered, 49'152, 2'048, 281.0, 826.0},
                               Traced{Kind::kRowsPut, 49'152, 2'048, 483.0, 137.0},
                               Traced{Kind::kRowsWeighted, 49'152, 2'048, 1'167.0, 486.0},
                               Traced{Kind::kRowsPut, 65'536, 2'048, 645.0, 188.0},
                               Traced{Kind::kRowsOuter, 8'192, 2'048, 899.0, 899.0}}) {
    CAPTURE(static_cast<int>(traced.kind), traced.rows);
    const KernelContext context{device, Hertz(1.9e9), device.compute_units, Seconds(1e-6),
                                Detail::kDuration};
    const auto taken = [&](Direction direction) {
      const MemoryBound op =
          op_of(traced.kind, traced.rows, traced.cols, Implementation::kEager, direction);
      return 1e6 * make_passes_memory_bound()->memory_bound(op, context).duration.value();
    };
    CHECK(taken(Direction::kForward) == Approx(traced.forward).epsilon(0.2));
    CHECK(taken(Direction::kBackward) == Approx(traced.backward).epsilon(0.2));
  }
}

}  // namespace
}  // namespace stepcast::memory_passes_test
