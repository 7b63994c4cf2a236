// SPDX-License-Identifier: Apache-2.0
#include "backends/attention/flash_kernel.hpp"

#include <array>

namespace stepcast {
namespace {

using Kernel = AttentionKernel;

// Tiles: head dimension, then queries x keys causal, without mask, backward.

// FlashAttention 2: flash_attn/cute/interface.py for sm80, two of its tiles rounded to 128.
constexpr auto kFlash2Tiles = std::to_array<HeadTiles>({
    {64, {128, 128}, {128, 128}, {128, 128}},
    {96, {128, 64}, {128, 64}, {64, 128}},
    {128, {128, 64}, {128, 64}, {64, 128}},
    {256, {128, 64}, {128, 64}, {64, 64}},
});
// FlashAttention 3: hopper/tile_size.h and flash_bwd_launch_template.h; 128 keys at d 64 without
// mask as at the time of the paper, 192 now.
constexpr auto kFlash3Tiles = std::to_array<HeadTiles>({
    {64, {192, 128}, {192, 128}, {128, 128}},
    {128, {128, 128}, {128, 176}, {64, 128}},
    {192, {128, 128}, {128, 128}, {64, 96}},
    {256, {128, 80}, {128, 80}, {64, 80}},
});
// cuDNN publishes none: 64 queries a warpgroup, two of them.
constexpr auto kCudnnHopperTiles = std::to_array<HeadTiles>({
    {64, {128, 128}, {128, 128}, {128, 128}},
    {128, {128, 128}, {128, 128}, {64, 128}},
    {192, {128, 128}, {128, 128}, {64, 128}},
    {256, {128, 80}, {128, 80}, {64, 64}},
});
// FlashAttention 4: two tiles of 128 queries in turn, so that one's softmax hides the other's
// products; cuDNN and TensorRT-LLM are taken to be alike.
constexpr auto kBlackwellTiles = std::to_array<HeadTiles>({
    {64, {256, 128}, {256, 128}, {128, 128}},
    {128, {256, 128}, {256, 128}, {128, 128}},
    {192, {256, 128}, {256, 128}, {128, 128}},
    {256, {256, 128}, {256, 128}, {128, 128}},
    {512, {128, 128}, {128, 128}, {64, 128}},
});
// TensorRT-LLM, cpp/kernels/fmha_v2/setup.py: 64 queries a warp group, two groups on Hopper, keys
// by how much fits; the keys of a tile at each dimension were not all read there.
constexpr auto kTrtllmAmpereTiles = std::to_array<HeadTiles>({
    {64, {64, 128}, {64, 128}, {64, 128}},
    {128, {64, 128}, {64, 128}, {64, 128}},
    {192, {64, 128}, {64, 128}, {64, 128}},
    {256, {64, 128}, {64, 128}, {64, 128}},
});
constexpr auto kTrtllmHopperTiles = std::to_array<HeadTiles>({
    {64, {128, 256}, {128, 256}, {128, 128}},
    {128, {128, 128}, {128, 128}, {64, 128}},
    {192, {128, 64}, {128, 64}, {64, 96}},
    {256, {128, 64}, {128, 64}, {64, 80}},
});
// aiter, hsa/gfx942/fmha_v3_* and hsa/gfx950/fmha_v3_*; 256 is taken from 192.
constexpr auto kAiterGfx942Tiles = std::to_array<HeadTiles>({
    {64, {256, 32}, {256, 32}, {32, 192}},
    {128, {256, 32}, {256, 32}, {16, 192}},
    {192, {128, 32}, {128, 32}, {16, 64}},
    {256, {128, 32}, {128, 32}, {16, 64}},
});
constexpr auto kAiterGfx950Tiles = std::to_array<HeadTiles>({
    {64, {256, 64}, {256, 64}, {32, 192}},
    {128, {256, 64}, {256, 64}, {16, 256}},
    {192, {128, 128}, {128, 128}, {16, 192}},
    {256, {128, 64}, {128, 64}, {16, 128}},
});

// FlashAttention 1 and its port to Triton: a block of keys outside, queries inside, every result
// rescaled in each tile; workgroups of a head are few. arXiv 2307.08691 says of A100 that forward
// reaches 30 to 50 % of the peak and that FlashAttention 2 is 1.7 to 3 times as fast, 1.3 to 2.5
// times for the port. Within these the shares follow from the rates of MPT on A100 (llm-foundry).
constexpr auto kFlash1Tiles = std::to_array<HeadTiles>({
    {64, {128, 128}, {128, 128}, {128, 128}},
    {128, {128, 128}, {128, 128}, {128, 128}},
});
constexpr FlashKernel kFlash1Ampere = {
    .kernel = Kernel::kFlash1,
    .family = KernelFamily::kAmpere,
    .tiles = kFlash1Tiles,
    .forward = {.matrix_share = 0.73, .tail = 1.0},
    .backward = {.matrix_share = 0.38, .tail = 1.0},
    .sums_shared_keys = true,
};
// The same code on Hopper, which nobody published alone: from the rates of MPT on H100.
constexpr FlashKernel kFlash1Hopper = {
    .kernel = Kernel::kFlash1,
    .family = KernelFamily::kHopper,
    .tiles = kFlash1Tiles,
    .forward = {.matrix_share = 0.28, .tail = 1.0},
    .backward = {.matrix_share = 0.186, .tail = 1.0},
    .sums_shared_keys = true,
};
// Synchronous matrix instructions; what of the softmax is hidden, a second workgroup on the unit
// hides. Workgroups of a head start with the shortest, hence the long tail.
constexpr FlashKernel kFlash2Ampere = {
    .kernel = Kernel::kFlash2,
    .family = KernelFamily::kAmpere,
    .tiles = kFlash2Tiles,
    .forward = {.overlap = 0.3, .tail = 0.6},
    .backward = {.overlap = 0.3, .tail = 0.6},
    .sums_shared_keys = true,
};
// The same code on Hopper: mma.sync reaches less than half of what wgmma does there.
constexpr FlashKernel kFlash2Hopper = {
    .kernel = Kernel::kFlash2,
    .family = KernelFamily::kHopper,
    .tiles = kFlash2Tiles,
    .forward = {.matrix_share = 0.41, .overlap = 0.44, .tail = 1.0},
    .backward = {.matrix_share = 0.381, .overlap = 1.0, .tail = 0.85},
    .sums_shared_keys = true,
};
// Not fitted: mma.sync taken to have the rate of Hopper a unit, half as large a share of the peak.
constexpr FlashKernel kFlash2Blackwell = {
    .kernel = Kernel::kFlash2,
    .family = KernelFamily::kBlackwell,
    .tiles = kFlash2Tiles,
    .forward = {.matrix_share = 0.22, .overlap = 0.44, .tail = 1.0},
    .backward = {.matrix_share = 0.21, .overlap = 1.0, .tail = 0.85},
    .sums_shared_keys = true,
};
// The paper's figures, clock locked; its backward is taken to be as cuDNN's (1.5 to 1.75 times
// FlashAttention 2, says the paper).
constexpr FlashKernel kFlash3Hopper = {
    .kernel = Kernel::kFlash3,
    .family = KernelFamily::kHopper,
    .tiles = kFlash3Tiles,
    .forward = {.overlap = 0.55, .tail = 0.7},
    .backward = {.start_share = 4.4, .tail = 0.87},
    .instruction_rows = 64,
};
constexpr FlashKernel kCudnnHopper = {
    .kernel = Kernel::kCudnn,
    .family = KernelFamily::kHopper,
    .tiles = kCudnnHopperTiles,
    .forward = {.matrix_share = 0.96, .overlap = 0.34, .tail = 0.87},
    .backward = {.start_share = 4.4, .tail = 0.87},
    .instruction_rows = 64,
    .sums_shared_keys = true,
    .pads_unequal_heads = true,
};
// Not fitted beyond the forward of TensorRT-LLM on the same part.
constexpr FlashKernel kFlash4Blackwell = {
    .kernel = Kernel::kFlash4,
    .family = KernelFamily::kBlackwell,
    .tiles = kBlackwellTiles,
    .forward = {.overlap = 1.0, .tail = 0.63},
    .backward = {.overlap = 1.0, .tail = 0.63},
    .instruction_rows = 128,
};
// Heads of 192 and 128: fitted to simumax_b200_attention.jsonl.
constexpr FlashKernel kCudnnBlackwell = {
    .kernel = Kernel::kCudnn,
    .family = KernelFamily::kBlackwell,
    .tiles = kBlackwellTiles,
    .forward = {.unequal_share = 0.68, .overlap = 1.0, .tail = 0.63},
    .backward = {.unequal_share = 0.70, .overlap = 1.0, .tail = 0.63},
    .instruction_rows = 128,
};

constexpr FlashKernel kTrtllmAmpere = {
    .kernel = Kernel::kTrtllm,
    .family = KernelFamily::kAmpere,
    .tiles = kTrtllmAmpereTiles,
    .forward = {.matrix_share = 0.8, .start_share = 1.1, .tail = 1.0},
    .context_passes = 1.2,
};
constexpr FlashKernel kTrtllmHopper = {
    .kernel = Kernel::kTrtllm,
    .family = KernelFamily::kHopper,
    .tiles = kTrtllmHopperTiles,
    .forward = {.matrix_share = 0.7, .overlap = 0.54, .start_share = 2.2, .tail = 0.62},
    .instruction_rows = 64,
    .context_passes = 1.04,
};
constexpr FlashKernel kTrtllmBlackwell = {
    .kernel = Kernel::kTrtllm,
    .family = KernelFamily::kBlackwell,
    .tiles = kBlackwellTiles,
    .forward = {.overlap = 1.0, .start_share = 2.2, .tail = 0.63},
    .instruction_rows = 128,
    .context_passes = 2.3,
};

constexpr FlashKernel aiter(Kernel kernel, KernelFamily family, std::span<const HeadTiles> tiles,
                            const DirectionTraits& forward, const DirectionTraits& backward) {
  return {.kernel = kernel,
          .family = family,
          .tiles = tiles,
          .forward = forward,
          .backward = backward,
          .reduction_element = Bytes(kernel == Kernel::kAiterA16 ? 2 : 4),
          .sums_shared_keys = true};
}
constexpr DirectionTraits kGfx942Forward = {.overlap = 0.72, .tail = 0.35};
constexpr DirectionTraits kGfx942Backward = {.overlap = 0.49, .start_share = 0.2, .tail = 0.43};
constexpr DirectionTraits kGfx950Forward = {.overlap = 0.9, .tail = 0.39};
constexpr DirectionTraits kGfx950Backward = {.overlap = 1.0, .start_share = 0.2, .tail = 0.07};

constexpr std::array kKernels = {
    kFlash1Ampere,
    kFlash1Hopper,
    kFlash2Ampere,
    kFlash2Hopper,
    kFlash2Blackwell,
    kFlash3Hopper,
    kCudnnHopper,
    kFlash4Blackwell,
    kCudnnBlackwell,
    kTrtllmAmpere,
    kTrtllmHopper,
    kTrtllmBlackwell,
    aiter(Kernel::kAiter, KernelFamily::kCdna3, kAiterGfx942Tiles, kGfx942Forward, kGfx942Backward),
    aiter(Kernel::kAiterA16, KernelFamily::kCdna3, kAiterGfx942Tiles, kGfx942Forward,
          kGfx942Backward),
    aiter(Kernel::kAiter, KernelFamily::kCdna4, kAiterGfx950Tiles, kGfx950Forward, kGfx950Backward),
    aiter(Kernel::kAiterA16, KernelFamily::kCdna4, kAiterGfx950Tiles, kGfx950Forward,
          kGfx950Backward),
};

const FlashKernel* find_kernel(Kernel kernel, KernelFamily family) {
  for (const FlashKernel& candidate : kKernels) {
    if (candidate.kernel == kernel && candidate.family == family) {
      return &candidate;
    }
  }
  return nullptr;
}

}  // namespace

const FlashKernel& flash_kernel(const Attention& op, const DeviceSpec& device) {
  const KernelFamily family = device.architecture.family;
  const bool exists = op.kernel != Kernel::kTrtllm || op.direction == Direction::kForward;
  const FlashKernel* found = exists ? find_kernel(op.kernel, family) : nullptr;
  return found != nullptr ? *found : *find_kernel(device.architecture.attention, family);
}

const HeadTiles& head_tiles(const FlashKernel& kernel, std::int64_t head_dim) {
  for (const HeadTiles& tiles : kernel.tiles) {
    if (head_dim <= tiles.head_dim) {
      return tiles;
    }
  }
  return kernel.tiles.back();
}

std::int64_t padded_head(const FlashKernel& kernel, std::int64_t head_dim) {
  constexpr std::int64_t kStep = 64;  // beyond the listed dimensions
  const std::int64_t listed = head_tiles(kernel, head_dim).head_dim;
  return head_dim <= listed ? listed : (head_dim + kStep - 1) / kStep * kStep;
}

}  // namespace stepcast
