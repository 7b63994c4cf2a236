// SPDX-License-Identifier: Apache-2.0
// The constants of hardware_profiles/kernels, hardware_profiles/collectives and
// hardware_profiles/exchange that measurements
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
enum class ConstantsOf { kKernels, kCollectives, kExchanges };

std::span<const CalibratedConstant> calibrated_constants(ConstantsOf of);

}  // namespace stepcast
