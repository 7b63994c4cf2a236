// SPDX-License-Identifier: Apache-2.0
// The constants of hardware_profiles/kernels and hardware_profiles/collectives that measurements
// can settle: what each means, its unit and the range that physics leaves it.
#pragma once

#include <span>
#include <string_view>

namespace stepcast {

struct CalibratedConstant {
  std::string_view key;   // "gemm.prologue_cycles"
  std::string_view unit;  // as the profile writes it; empty for a plain number
  double low;             // in that unit
  double high;
  std::string_view meaning;
};

// Which folder of profiles a file of constants lies in.
enum class ConstantsOf { kKernels, kCollectives };

std::span<const CalibratedConstant> calibrated_constants(ConstantsOf of);

}  // namespace stepcast
