// SPDX-License-Identifier: Apache-2.0
// The constants that measurements can settle: those of the files of hardware_profiles/kernels,
// hardware_profiles/architectures, hardware_profiles/collectives and hardware_profiles/exchange.
// They follow from the tables by which those files are read.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace stepcast {

struct CalibratedConstant {
  std::string key;        // "gemm.prologue_cycles"
  std::string_view unit;  // as the profile writes it; empty for a plain number
  double low;             // in that unit
  double high;
  std::string_view meaning;
};

// Which folder of profiles a file of constants lies in, or that it is the one of libraries.
enum class ConstantsOf { kKernels, kArchitectures, kCollectives, kExchanges, kLibraries };

std::span<const CalibratedConstant> calibrated_constants(ConstantsOf of);

}  // namespace stepcast
