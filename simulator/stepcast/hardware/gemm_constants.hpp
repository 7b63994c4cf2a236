// SPDX-License-Identifier: Apache-2.0
// What the tile model of matrix products knows of a family of GPUs and its library;
// gemm_constants() says what each number is.
#pragma once

#include "stepcast/base/units.hpp"
#include "stepcast/hardware/constant.hpp"

namespace stepcast {

struct GemmConstants {
  PerDtype<double> matrix_efficiency;
  BytesPerCycle cache_rate;
  BytesPerCycle port_rate;
  double prologue_cycles = 0.0;
  BytesPerCycle epilogue_rate;
  double epilogue_overlap = 0.0;
  double hbm_share = 1.0;
  Seconds start_up;
  Seconds hbm_latency;
  Seconds split_latency;
  double unaligned_share = 1.0;
  double odd_share = 1.0;  // as unaligned_share where a file leaves it out
};

std::span<const Constant<GemmConstants>> gemm_constants();

}  // namespace stepcast
