// SPDX-License-Identifier: Apache-2.0
// What the device's time of a step is spent on, for measured kernels and for our operators alike.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "stepcast/base/units.hpp"
#include "stepcast/model/op.hpp"

namespace stepcast {

enum class StepCategory {
  kGemm,
  kGroupedGemm,
  kAttentionForward,
  kAttentionBackward,
  kAllGather,
  kReduceScatter,
  kAllReduce,
  kAllToAll,
  kSendRecv,
  kOptimizer,
  kCopies,       // copies, casts, concatenation, memory set
  kMemoryBound,  // activation, norm, RoPE, loss, residual, permutation, other elementwise
  kOther,
};
inline constexpr std::size_t kStepCategories = 13;

template <>
inline constexpr std::array<std::string_view, kStepCategories> kNamesOf<StepCategory> = {
    "gemm",
    "grouped_gemm",
    "attention_forward",
    "attention_backward",
    "all_gather",
    "reduce_scatter",
    "all_reduce",
    "all_to_all",
    "send_recv",
    "optimizer",
    "copies",
    "memory_bound",
    "other"};

constexpr bool is_communication(StepCategory category) {
  return category >= StepCategory::kAllGather && category <= StepCategory::kSendRecv;
}

// Device time by category; kernels on several streams count each for itself.
using CategoryTimes = std::array<Seconds, kStepCategories>;

// Of a kernel by its name; of one of a collective library, whose kernels of several operations have
// one name, by `collective`, the operation as the profiler names it (empty: not known).
StepCategory category_of_kernel(std::string_view kernel, std::string_view collective);

StepCategory category_of(const Op& op);

}  // namespace stepcast
