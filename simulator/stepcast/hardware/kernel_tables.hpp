// SPDX-License-Identifier: Apache-2.0
// The parts of hardware_profiles/kernels, and of a kernel of hardware_profiles/architectures.
#pragma once

#include "stepcast/hardware/attention_library.hpp"
#include "stepcast/hardware/constant_sections.hpp"
#include "stepcast/hardware/kernel_constants.hpp"

namespace stepcast::kernel_tables {

inline constexpr auto kParts = [](auto& visit) {
  using File = KernelConstants;
  visit.part("power", &File::power, parts_of(power_constants()));
  visit.part("gemm", &File::gemm, parts_of(gemm_constants()));
  visit.part("attention", &File::attention, parts_of(attention_constants()));
  visit.part("linear_attention", &File::linear_attention, parts_of(linear_attention_constants()));
  visit.part("sparse_attention", &File::sparse_attention, parts_of(sparse_attention_constants()));
  visit.part("memory_bound", &File::memory, parts_of(memory_constants()));
};

inline constexpr auto kPartsOfFlashKernel = [](auto& visit) {
  visit.part("forward", &FlashKernel::forward, parts_of(direction_constants()));
  visit.part("backward", &FlashKernel::backward, parts_of(direction_constants()));
  visit.own(flash_kernel_constants());
};

}  // namespace stepcast::kernel_tables
