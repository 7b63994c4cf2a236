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
  kClipping,     // the norm of all gradients and their product with what it asks for
  kFsdpCopies,   // casts and copies of parameters and gradients around FSDP's collectives
  kExpertRows,   // tokens' rows brought into the order of experts and back, weighted, summed
  kCopies,       // copies to and from the host, memory set, copies beside the update
  kMemoryBound,  // activation, norm, RoPE, loss, residual, the casts and copies that they run
  kOther,
};
inline constexpr std::size_t kStepCategories = 16;

template <>
inline constexpr std::array<std::string_view, kStepCategories> kNamesOf<StepCategory> = {
    "gemm",        "grouped_gemm",   "attention_forward", "attention_backward",
    "all_gather",  "reduce_scatter", "all_reduce",        "all_to_all",
    "send_recv",   "optimizer",      "clipping",          "fsdp_copies",
    "expert_rows", "copies",         "memory_bound",      "other"};

constexpr bool is_communication(StepCategory category) {
  return category >= StepCategory::kAllGather && category <= StepCategory::kSendRecv;
}

// Device time by category; kernels on several streams count each for itself.
using CategoryTimes = std::array<Seconds, kStepCategories>;

// Of a kernel by its name; of one of a collective library, whose kernels of several operations have
// one name, by `collective`, the operation as the profiler names it (empty: not known). What its
// operators say besides is settled where they are known (operator_categories.hpp).
StepCategory category_of_kernel(std::string_view kernel, std::string_view collective);

StepCategory category_of(const Op& op);

}  // namespace stepcast
