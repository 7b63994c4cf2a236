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
// 128 x 128. cudnn_9_17 is what cuDNN runs on Blackwell from 9.17 on.
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
  kCudnn917,
};
template <>
inline constexpr std::array<std::string_view, 11> kNamesOf<AttentionKernel> = {
    "unfused", "flash1",    "flash2", "flash3", "flash4",    "cudnn",
    "aiter",   "aiter_a16", "trtllm", "flex",   "cudnn_9_17"};

constexpr bool is_cudnn(AttentionKernel kernel) {
  return kernel == AttentionKernel::kCudnn || kernel == AttentionKernel::kCudnn917;
}

}  // namespace stepcast
