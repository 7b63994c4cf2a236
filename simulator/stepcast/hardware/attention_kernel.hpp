// SPDX-License-Identifier: Apache-2.0
// The attention kernels that software sets and measurements name.
#pragma once

#include <array>
#include <string_view>

#include "stepcast/base/enum_names.hpp"

namespace stepcast {

// aiter accumulates the gradient of queries with 32-bit atomics, as its own default and the
// published recipes of MI300X have it; aiter_a16 with 16-bit ones. trtllm is TensorRT-LLM's context
// attention (forward only). flex is PyTorch's FlexAttention: generated, with a mask by blocks of
// 128 x 128.
enum class AttentionKernel {
  kUnfused,
  kFlash1,
  kFlash2,
  kFlash3,
  kFlash4,
  kCudnn,
  kAiter,
  kAiterA16,
  kTrtllm,
  kFlex,
};
template <>
inline constexpr std::array<std::string_view, 10> kNamesOf<AttentionKernel> = {
    "unfused", "flash1", "flash2",    "flash3", "flash4",
    "cudnn",   "aiter",  "aiter_a16", "trtllm", "flex"};

}  // namespace stepcast
