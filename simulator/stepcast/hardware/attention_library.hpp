// SPDX-License-Identifier: Apache-2.0
// The fused attention kernels that an architecture has: how each cuts its work and what it hides
// (hardware_profiles/architectures). What a part lets its best kernel reach is in
// attention_constants.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stepcast/hardware/attention_kernel.hpp"
#include "stepcast/hardware/constant.hpp"

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
  ScoreTile backward;  // of no size where the kernel runs forward only
};

// How one direction of a kernel uses its compute unit: direction_constants() says what each is.
struct DirectionTraits {
  double matrix_share = 1.0;
  double unequal_share = 1.0;
  double overlap = 0.0;
  double tile_cycles = 0.0;
  double start_share = 1.0;
  double tail = 0.0;
  double single_pass_head = 0.0;  // 0: any
};

std::span<const Constant<DirectionTraits>> direction_constants();

// flash_kernel_constants() says what each number is.
struct FlashKernel {
  std::vector<HeadTiles> tiles;  // by rising head dimension
  DirectionTraits forward;
  std::optional<DirectionTraits> backward;  // none: the kernel runs forward only
  std::int64_t instruction_rows = 0;
  Bytes reduction_element{4};
  bool sums_shared_keys = false;    // dK and dV for each query head, and a kernel that sums them
  bool pads_unequal_heads = false;  // backward without causal mask, d_qk != d_v: both padded to 256
  double context_passes = 0.0;
  double roofline_share = 1.0;
};

std::span<const Constant<FlashKernel>> flash_kernel_constants();

struct AttentionLibrary {
  // What the usual libraries take, and what runs where the kernel that a software set names does
  // not exist. It has both directions.
  AttentionKernel native = AttentionKernel::kFlash2;
  std::array<std::optional<FlashKernel>, kAttentionKernelNames.size()> kernels;

  [[nodiscard]] const std::optional<FlashKernel>& kernel(AttentionKernel wanted) const {
    return kernels[static_cast<std::size_t>(wanted)];
  }
};

AttentionLibrary read_attention_library(SourcedReader reader);

}  // namespace stepcast
