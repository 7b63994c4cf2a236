// SPDX-License-Identifier: Apache-2.0
// Named fused attention kernels: how each cuts its work and what it hides. What the hardware lets a
// kernel reach is in stepcast/hardware/attention_constants.hpp.
#pragma once

#include <cstdint>
#include <span>

#include "stepcast/graph/op.hpp"
#include "stepcast/hardware/device_spec.hpp"

namespace stepcast {

struct ScoreTile {  // of the queries x keys scores
  std::int64_t queries = 0;
  std::int64_t keys = 0;
};

// Tiles of the heads up to a dimension, which is also what smaller heads are padded to.
struct HeadTiles {
  std::int64_t head_dim = 0;
  ScoreTile causal;
  ScoreTile full;
  ScoreTile backward;
};

// How one direction of a kernel uses its compute unit; fitted unless flash_kernel.cpp says so.
struct DirectionTraits {
  double matrix_share = 1.0;   // of the efficiency that the part's constants give
  double unequal_share = 1.0;  // of that again where d_qk and d_v differ
  double overlap = 0.0;        // share of the shorter of products and softmax that is hidden
  double start_share = 1.0;    // start and end of a workgroup, over those of the part's constants
  double tail = 0.0;           // idle time at the end where workgroups differ, in longest ones
};

struct FlashKernel {
  AttentionKernel kernel = AttentionKernel::kFlash2;
  KernelFamily family = KernelFamily::kAmpere;  // of the parts that it is written for
  std::span<const HeadTiles> tiles;             // by rising head dimension
  DirectionTraits forward{};
  DirectionTraits backward{};
  // Rows of a matrix instruction that reads its operands from the local memory (wgmma, tcgen05);
  // 0: operands come from registers, and loading them is part of the efficiency.
  std::int64_t instruction_rows = 0;
  Bytes reduction_element{4};       // of the gradients of queries that workgroups add up
  bool sums_shared_keys = false;    // dK and dV for each query head, and a kernel that sums them
  bool pads_unequal_heads = false;  // backward without causal mask, d_qk != d_v: both padded to 256
  double context_passes = 0.0;      // over q, k and v before the kernel: rotary and cache update
};

// The kernel that runs `op` on `device`: the one that it names or, where that does not exist, the
// architecture's own.
const FlashKernel& flash_kernel(const Attention& op, const DeviceSpec& device);

// Tiles for a head dimension, and the dimension that it is padded to.
const HeadTiles& head_tiles(const FlashKernel& kernel, std::int64_t head_dim);
std::int64_t padded_head(const FlashKernel& kernel, std::int64_t head_dim);

}  // namespace stepcast
