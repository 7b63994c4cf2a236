// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "backends/attention/flash_kernel.hpp"
#include "backends/attention/unfused.hpp"
#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast::attention_tile_test {
namespace {

using test::nearly;
using test::shipped_gpu;

constexpr Hertz kClock{1e9};

// A part where a product cycle is 4,096 FLOPs and all else is free: exponentials, vectors, memory,
// caches, starts and launches. One unit, so that cycles can be counted by hand.
DeviceSpec only_products(const std::string& architecture) {
  DeviceSpec device;
  device.architecture = test::shipped_architecture(architecture);
  for (std::optional<FlashKernel>& kernel : device.architecture.attention.kernels) {
    if (kernel) {
      kernel->forward.tile_cycles = 0.0;
    }
  }
  device.compute_units = 1;
  device.clock.peak = kClock;
  device.clock.rated = kClock;
  device.matrix_rate[slot(Dtype::kBf16)] = FlopsPerCycle(4096.0);
  device.vector_rate = FlopsPerCycle(1e15);
  device.transcendental_rate = 1e15;
  device.local_memory.bandwidth = BytesPerCycle(1e15);
  device.l2.bandwidth = BytesPerSecond(1e24);
  device.hbm.achieved = BytesPerSecond(1e24);
  return device;
}

Attention square(std::int64_t length, std::int64_t heads, AttentionKernel kernel,
                 Direction direction = Direction::kForward) {
  Attention op;
  op.batch = 1;
  op.seq_q = length;
  op.seq_kv = length;
  op.heads = heads;
  op.kv_heads = heads;
  op.d_qk = 128;
  op.d_v = 128;
  op.causal = false;
  op.direction = direction;
  op.kernel = kernel;
  return op;
}

OpCost cost(const Attention& op, const DeviceSpec& device, std::int64_t units,
            Detail detail = Detail::kDuration) {
  return make_tile_attention()->attention(op,
                                          {device, kClock, units, device.launch_latency, detail});
}

double seconds(const Attention& op, const DeviceSpec& device) {
  return cost(op, device, device.compute_units).duration.value();
}

TEST_CASE("blocks above the diagonal are skipped, those on it are computed whole", "[unit]") {
  Attention op = square(1024, 2, AttentionKernel::kFlash2);
  op.causal = true;
  // 8 blocks of queries a head see 1, 2 ... 8 blocks of keys: 4.5 in the mean.
  const TileCount count = tile_count(op, {128, 128});
  CHECK(count.groups == 16.0);
  CHECK(count.mean == 4.5);
  CHECK(count.longest == 8.0);
  CHECK(count.longest_groups == 2.0);
  // With 64 keys a block: 2, 4 ... 16.
  CHECK(tile_count(op, {128, 64}).mean == 9.0);
  // With 256: 1, 1, 2, 2 ... 4, 4.
  CHECK(tile_count(op, {128, 256}).mean == 2.5);
}

TEST_CASE("a ragged sequence fills its last blocks", "[unit]") {
  const TileCount count = tile_count(square(130, 1, AttentionKernel::kFlash2), {128, 128});
  CHECK(count.groups == 2.0);
  CHECK(count.mean == 2.0);
}

TEST_CASE("a window caps the blocks of a workgroup", "[unit]") {
  Attention op = square(65'536, 1, AttentionKernel::kFlash2);
  op.causal = true;
  op.window = 129;
  // A block of 128 queries reaches 256 keys that start on a block's edge: 2 blocks.
  const TileCount count = tile_count(op, {128, 128});
  CHECK(count.longest == 2.0);
  CHECK(count.mean == Approx(2.0).epsilon(0.01));
  op.causal = false;
  CHECK(tile_count(op, {128, 128}).longest == 3.0);
}

TEST_CASE("a forward workgroup takes the cycles of its products", "[unit]") {
  // 2 x 128 x 128 x (128 + 128) FLOPs are 2,048 cycles.
  const Attention op = square(128, 1, AttentionKernel::kCudnn);
  const double share = flash_kernel(op, only_products("sm90")).forward.matrix_share;
  CHECK(seconds(op, only_products("sm90")) == Approx(2048e-9 / share).epsilon(1e-9));
}

// arXiv 2307.08691 of A100: the first version's forward reaches 30 to 50 % of the peak; the second
// is 1.7 to 3 times as fast as it, 1.3 to 2.5 times as fast as its port to Triton.
TEST_CASE("FlashAttention 1 is where its successor's paper saw it and its port", "[case]") {
  const DeviceSpec device = shipped_gpu("a100_80gb");
  const std::int64_t length = GENERATE(1024, 2048, 8192);
  const std::int64_t head = GENERATE(64, 128);
  const auto time = [&](AttentionKernel kernel, Direction direction) {
    // 16 k tokens and a hidden size of 2048, as in its figures.
    Attention op = square(length, 16'384 / length * (2048 / head), kernel, direction);
    op.d_qk = head;
    op.d_v = head;
    return seconds(op, device);
  };
  const double forward = time(AttentionKernel::kFlash1, Direction::kForward);
  const double peak = 312e12 * (kClock / device.clock.peak);
  const double share = 4.0 * 2048.0 * 16'384.0 * static_cast<double>(length) / forward / peak;
  CHECK(share > 0.30);
  CHECK(share < 0.50);
  const double ratio = (forward + time(AttentionKernel::kFlash1, Direction::kBackward)) /
                       (time(AttentionKernel::kFlash2, Direction::kForward) +
                        time(AttentionKernel::kFlash2, Direction::kBackward));
  CHECK(ratio > 1.7);
  CHECK(ratio < 2.5);
}

TEST_CASE("FlashAttention 1 stays behind the second on Hopper", "[unit]") {
  const DeviceSpec device = shipped_gpu("h100_sxm");
  const Direction direction = GENERATE(Direction::kForward, Direction::kBackward);
  const double first = seconds(square(4096, 64, AttentionKernel::kFlash1, direction), device);
  const double second = seconds(square(4096, 64, AttentionKernel::kFlash2, direction), device);
  CHECK(first > 1.3 * second);
  CHECK(first < 2.5 * second);
}

TEST_CASE("keys wider than values cost their share", "[unit]") {
  const DeviceSpec device = only_products("sm90");
  Attention op = square(4096, 1, AttentionKernel::kCudnn);
  const double plain = seconds(op, device);
  op.d_qk = 192;
  CHECK(seconds(op, device) == Approx(plain * (192.0 + 128.0) / 256.0).epsilon(1e-9));
}

TEST_CASE("heads are padded to the kernel's next dimension", "[unit]") {
  const DeviceSpec device = only_products("sm90");
  Attention op = square(4096, 1, AttentionKernel::kCudnn);
  const double padded = seconds(op, device);
  op.d_qk = 80;
  op.d_v = 80;
  CHECK(seconds(op, device) == nearly(padded));
}

TEST_CASE("equal workgroups run in whole waves", "[unit]") {
  const DeviceSpec device = only_products("sm90");
  const double one = cost(square(128, 8, AttentionKernel::kCudnn), device, 8).duration.value();
  CHECK(cost(square(128, 9, AttentionKernel::kCudnn), device, 8).duration.value() ==
        nearly(2.0 * one));
  CHECK(cost(square(128, 16, AttentionKernel::kCudnn), device, 8).duration.value() ==
        nearly(2.0 * one));
}

TEST_CASE("causal attention costs about half at a long sequence, more at a short one", "[unit]") {
  const DeviceSpec device = shipped_gpu("h100_sxm");
  const auto ratio = [&](std::int64_t length) {
    Attention op = square(length, 32, AttentionKernel::kCudnn);
    const double full = seconds(op, device);
    op.causal = true;
    return seconds(op, device) / full;
  };
  CHECK(ratio(65'536) == Approx(0.5).epsilon(0.03));
  CHECK(ratio(2048) > 0.55);
}

TEST_CASE("a short window takes a long sequence off its square", "[unit]") {
  const DeviceSpec device = shipped_gpu("h200_sxm");
  Attention op = square(32'768, 64, AttentionKernel::kCudnn);
  op.causal = true;
  op.window = 128;
  const double once = seconds(op, device);
  op.seq_q *= 2;
  op.seq_kv *= 2;
  CHECK(seconds(op, device) == Approx(2.0 * once).epsilon(0.02));
}

TEST_CASE("shared keys save memory traffic, not products", "[unit]") {
  const DeviceSpec device = shipped_gpu("h200_sxm");
  Attention op = square(8192, 32, AttentionKernel::kCudnn);
  const OpCost own = cost(op, device, device.compute_units);
  op.kv_heads = 4;
  const OpCost shared = cost(op, device, device.compute_units);
  CHECK(shared.duration == own.duration);
  CHECK(shared.energy < own.energy);
}

TEST_CASE("operands in shared memory bound the backward tile of Blackwell", "[unit]") {
  // FlashAttention 4 counts 3,328 cycles for a tile of 128 x 128 x 128 at 128 B a clock; five
  // products of 512 cycles each take 2,560.
  DeviceSpec device = only_products("sm100");
  device.matrix_rate[slot(Dtype::kBf16)] = FlopsPerCycle(8192.0);
  device.local_memory.bandwidth = BytesPerCycle(128.0);
  const OpCost tile = cost(square(128, 1, AttentionKernel::kCudnn917, Direction::kBackward), device,
                           1, Detail::kTerms);
  CHECK(tile.duration.value() == Approx(3328e-9).epsilon(1e-9));
  CHECK(tile.bound == Bound::kLocalMemory);
  REQUIRE(tile.terms.size() > 2);
  CHECK(tile.terms[0].duration.value() == Approx(2560e-9).epsilon(1e-9));
  CHECK(tile.terms[2].duration.value() == Approx(768e-9).epsilon(1e-9));
}

TEST_CASE("in 8 bits backward walks over tiles outside of a window as well", "[unit]") {
  const DeviceSpec device = shipped_gpu("gb200");
  Attention whole = square(4096, 16, AttentionKernel::kCudnn917, Direction::kBackward);
  whole.causal = true;
  whole.dtype = Dtype::kFp8;
  Attention windowed = whole;
  windowed.window = 128;
  CHECK(seconds(windowed, device) == nearly(seconds(whole, device)));
  whole.dtype = windowed.dtype = Dtype::kBf16;
  CHECK(seconds(windowed, device) < 0.3 * seconds(whole, device));
  whole.direction = windowed.direction = Direction::kForward;
  whole.dtype = windowed.dtype = Dtype::kFp8;
  CHECK(seconds(windowed, device) < 0.3 * seconds(whole, device));
}

// 64 queries' heads on 8: a pass over gradients of keys and values of each head.
TEST_CASE("in 8 bits gradients of shared keys are summed in a kernel of its own", "[unit]") {
  const DeviceSpec device = shipped_gpu("gb200");
  Attention own = square(8192, 64, AttentionKernel::kCudnn917, Direction::kBackward);
  own.dtype = Dtype::kFp8;
  Attention shared = own;
  shared.kv_heads = 8;
  CHECK(cost(shared, device, 148).launches == nearly(cost(own, device, 148).launches + 1.0));
  own.dtype = shared.dtype = Dtype::kBf16;
  CHECK(cost(shared, device, 148).launches == nearly(cost(own, device, 148).launches));
}

TEST_CASE("scales of blocks cost vector operations, and 8 bits half the operands", "[unit]") {
  const DeviceSpec device = shipped_gpu("gb300");
  Attention op = square(8192, 64, AttentionKernel::kCudnn917, Direction::kBackward);
  const double in_16_bits = seconds(op, device);
  op.dtype = Dtype::kFp8;
  const double in_8_bits = seconds(op, device);
  op.dtype = Dtype::kFp8Block;
  const double by_blocks = seconds(op, device);
  CHECK(in_8_bits < by_blocks);
  CHECK(by_blocks < in_16_bits);
}

TEST_CASE("cuDNN on Blackwell reaches a smaller share of the rate with heads of 192 and 128",
          "[unit]") {
  const DeviceSpec device = only_products("sm100");
  Attention op = square(8192, 1, AttentionKernel::kCudnn);
  op.d_qk = 192;
  op.d_v = 192;
  const double equal = seconds(op, device);
  op.d_v = 128;
  const double share = flash_kernel(op, device).forward.unequal_share;
  CHECK(share < 1.0);
  // Forward is a product over d_qk and one over d_v: 320 of 384 as much work.
  CHECK(seconds(op, device) == Approx(equal * 320.0 / 384.0 / share).epsilon(1e-9));
}

TEST_CASE("a wide head's gradients by halves take the scores and their gradients twice", "[unit]") {
  DeviceSpec device = only_products("sm90");
  Attention op = square(8192, 1, AttentionKernel::kCudnn, Direction::kBackward);
  op.d_qk = 256;
  op.d_v = 256;
  const double halves = seconds(op, device);
  FlashKernel& kernel =
      *device.architecture.attention.kernels[static_cast<std::size_t>(AttentionKernel::kCudnn)];
  kernel.backward->single_pass_head = 256.0;
  // Q K^T and dO V^T twice, and dQ, dK, dV once: seven products for five.
  CHECK(halves == Approx(seconds(op, device) * 7.0 / 5.0).epsilon(1e-9));
}

TEST_CASE("32-bit sums of query gradients cost more than 16-bit ones on AMD", "[unit]") {
  const DeviceSpec device = shipped_gpu("mi355x");
  const double wide =
      seconds(square(8192, 32, AttentionKernel::kAiter, Direction::kBackward), device);
  const double narrow =
      seconds(square(8192, 32, AttentionKernel::kAiterA16, Direction::kBackward), device);
  CHECK(wide > 1.1 * narrow);
  CHECK(wide < 2.0 * narrow);
}

TEST_CASE("a kernel that a part does not have runs as the part's own", "[unit]") {
  const auto same = [](const char* gpu, AttentionKernel asked, AttentionKernel own,
                       Direction direction) {
    const DeviceSpec device = shipped_gpu(gpu);
    CHECK(seconds(square(4096, 16, asked, direction), device) ==
          seconds(square(4096, 16, own, direction), device));
  };
  using Kernel = AttentionKernel;
  same("mi300x", Kernel::kFlash3, Kernel::kAiter, Direction::kForward);
  same("a100_80gb", Kernel::kCudnn, Kernel::kFlash2, Direction::kBackward);
  same("h100_sxm", Kernel::kFlash4, Kernel::kCudnn, Direction::kForward);
  same("h100_sxm", Kernel::kTrtllm, Kernel::kCudnn, Direction::kBackward);
}

TEST_CASE("unfused attention pays for the scores that the mask clears", "[unit]") {
  const DeviceSpec device = shipped_gpu("h100_sxm");
  Attention op = square(2048, 16, AttentionKernel::kUnfused);
  const double plain = seconds(op, device);
  CHECK(plain > 2.0 * seconds(square(2048, 16, AttentionKernel::kCudnn), device));
  op.dropout = true;
  const double full = seconds(op, device);
  CHECK(full > plain);
  op.causal = true;
  CHECK(seconds(op, device) == full);
  CHECK(full > 3.0 * seconds(square(2048, 16, AttentionKernel::kCudnn), device));
}

TEST_CASE("unfused attention passes over the scores as often as its kernels do", "[unit]") {
  Attention op = square(1024, 1, AttentionKernel::kUnfused);
  const UnfusedAttentionConstants counted = shipped_gpu("h100_sxm").libraries.unfused_attention;
  CHECK(unfused_passes(op, counted) == 4.0);
  op.scores = Implementation::kEager;
  CHECK(unfused_passes(op, counted) == 27.0);
  op.scores = Implementation::kFused;
  op.dropout = true;
  CHECK(unfused_passes(op, counted) == 8.0);
  op.sinks = true;
  CHECK(unfused_passes(op, counted) == 18.0);
  op.direction = Direction::kBackward;
  CHECK(unfused_passes(op, counted) == 23.0);
  op.sinks = op.dropout = false;
  CHECK(unfused_passes(op, counted) == 7.0);
  // One million scores of 2 bytes at 1 TB/s are 2.1 us a pass, of kernels with dropout 10.
  op.dropout = true;
  DeviceSpec device = only_products("sm90");
  device.libraries.unfused_attention = counted;
  device.achieved.gemm[slot(Dtype::kBf16)] = 1.0;
  device.hbm.achieved = BytesPerSecond(1e12);
  const OpCost priced = cost(op, device, 1, Detail::kTerms);
  CHECK(priced.terms[1].duration.value() == Approx(10.0 * 2.0 * 1024.0 * 1024.0 / 1e12));
}

// Measured on one H200: the softmax and the products of 2.1 (1.1) billion scores, kernel by kernel.
TEST_CASE("a softmax that keeps rows in registers slows down as they get longer", "[unit]") {
  const DeviceSpec device = shipped_gpu("h200_sxm");
  const auto both_ways = [&](std::int64_t keys, std::int64_t heads) {
    const auto time = [&](Direction direction) {
      Attention op = square(keys, heads, AttentionKernel::kUnfused);
      op.direction = direction;
      const KernelContext context{device, device.clock.peak, device.compute_units,
                                  device.launch_latency};
      return make_tile_attention()->attention(op, context).duration.value();
    };
    return std::pair(time(Direction::kForward), time(Direction::kBackward));
  };
  const auto [short_forward, short_backward] = both_ways(2048, 256);
  CHECK(short_forward == Approx(2.10e-3 + 0.67e-3 + 0.61e-3).epsilon(0.1));
  CHECK(short_backward == Approx(1.75e-3 + 0.68e-3 + 0.59e-3 + 0.61e-3 + 0.59e-3).epsilon(0.1));
  const auto [forward, backward] = both_ways(4096, 128);
  CHECK(forward == Approx(6.63e-3 + 1.42e-3 + 1.15e-3).epsilon(0.1));
  CHECK(backward == Approx(4.39e-3 + 1.41e-3 + 1.13e-3 + 1.15e-3 + 1.08e-3).epsilon(0.1));
  const auto [long_forward, long_backward] = both_ways(8192, 32);
  CHECK(long_forward == Approx(12.67e-3 + 1.52e-3 + 1.12e-3).epsilon(0.1));
  CHECK(long_backward == Approx(12.89e-3 + 1.46e-3 + 1.06e-3 + 1.17e-3 + 1.07e-3).epsilon(0.1));
}

TEST_CASE("documents are computed in whole blocks", "[unit]") {
  Attention op = square(1024, 2, AttentionKernel::kFlex);
  op.causal = true;
  op.documents = {256};
  // Two blocks a document: 1 and 2 tiles.
  CHECK(tile_count(op, {128, 128}).mean == 1.5);
  CHECK(tile_count(op, {128, 128}).longest == 2.0);
  // Documents of 192 start in the middle of a tile: 0, 0 | 192 in its second, 192 ... 1, 2, 2, 1,
  // 2, 2, 1 and 2 tiles (from 0, 0, 192, 384, 384, 576, 768, 768).
  op.documents = {192};
  CHECK(tile_count(op, {128, 128}).mean == 13.0 / 8.0);
  op.documents = {1024};
  CHECK(tile_count(op, {128, 128}).mean == 4.5);
  op.documents = {256, DocumentLengths::kFixed, false};
  CHECK(tile_count(op, {128, 128}).mean == 3.0 / 8.0);
}

// 2 operations of 128 lanes a score, 128 x 128 scores a tile: 256 cycles more.
TEST_CASE("a mask that is a tensor costs its operations a score", "[unit]") {
  DeviceSpec device = only_products("sm90");
  device.vector_rate = FlopsPerCycle(256.0);
  device.libraries.mask_tensor.forward = 2.0;
  Attention op = square(128, 1, AttentionKernel::kCudnn);
  const double plain = seconds(op, device);
  op.mask_tensor = true;
  CHECK(seconds(op, device) - plain == nearly(128.0 * 128.0 * 2.0 / 128.0 / kClock.value()));
  CHECK(compulsory_bytes(op).value() == nearly(4.0 * 128.0 * 128.0 * 2.0 + 128.0 * 128.0 * 2.0));
}

TEST_CASE("a mask by document never makes attention slower", "[property]") {
  const auto kernel = GENERATE(AttentionKernel::kFlex, AttentionKernel::kCudnn);
  const auto direction = GENERATE(Direction::kForward, Direction::kBackward);
  const auto lengths = GENERATE(DocumentLengths::kFixed, DocumentLengths::kGeometric);
  for (const char* gpu : {"a100_80gb", "h100_sxm", "b200"}) {
    const DeviceSpec device = shipped_gpu(gpu);
    Attention op = square(8192, 16, kernel, direction);
    op.causal = true;
    const double causal = seconds(op, device);
    for (std::int64_t length = 1; length < 20'000; length *= 2) {
      op.documents = {length, lengths, true};
      const double taken = seconds(op, device);
      INFO(gpu << ", documents of " << length);
      CHECK(taken <= causal * (1.0 + 1e-9));
      CHECK(taken * device.matrix_peak(op.dtype, kClock)->value() >= flops(op).value());
    }
    op.documents = {8192};
    CHECK(seconds(op, device) == causal);
  }
}

TEST_CASE("the terms of a fused kernel add up to its time", "[unit]") {
  for (const char* gpu : {"a100_80gb", "h200_sxm", "b200", "mi300x", "mi355x"}) {
    const DeviceSpec device = shipped_gpu(gpu);
    for (const std::int64_t length : {1, 100, 1024, 8192}) {
      for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
        Attention op = square(length, 12, AttentionKernel::kFlash2, direction);
        op.kv_heads = 4;
        op.causal = true;
        const OpCost priced = cost(op, device, device.compute_units, Detail::kTerms);
        Seconds sum;
        for (const CostTerm& term : priced.terms) {
          sum += term.duration;
        }
        CHECK(sum.value() == Approx(priced.duration.value()).epsilon(1e-9));
        CHECK(priced.tiling.waves > 0.0);
      }
    }
  }
}

TEST_CASE("a longer sequence is no cheaper, and no kernel beats the matrix units", "[property]") {
  const auto kernel = GENERATE(AttentionKernel::kFlash2, AttentionKernel::kFlash4,
                               AttentionKernel::kAiterA16, AttentionKernel::kTrtllm);
  const auto direction = GENERATE(Direction::kForward, Direction::kBackward);
  const auto causal = GENERATE(false, true);
  const auto window = GENERATE(0, 1, 128, 4096);
  for (const char* gpu : {"a100_80gb", "h100_sxm", "b200", "mi300x", "mi355x"}) {
    const DeviceSpec device = shipped_gpu(gpu);
    double shorter = 0.0;
    for (std::int64_t length = 1; length < 100'000; length += 1 + length / 7) {
      Attention op = square(length, 18, kernel, direction);
      op.causal = causal;
      op.window = window;
      const double taken = seconds(op, device);
      INFO(gpu << ", " << length << " tokens");
      REQUIRE(taken >= 0.9 * shorter);
      REQUIRE(taken * device.matrix_peak(op.dtype, kClock)->value() >= flops(op).value());
      shorter = taken;
    }
  }
}

}  // namespace
}  // namespace stepcast::attention_tile_test
