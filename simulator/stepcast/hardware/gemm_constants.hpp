// SPDX-License-Identifier: Apache-2.0
// What the tile model of matrix products knows of a family of GPUs and its library.
#pragma once

#include "stepcast/base/dtype.hpp"
#include "stepcast/base/units.hpp"
#include "stepcast/hardware/provenance.hpp"

namespace stepcast {

struct GemmConstants {
  PerDtype<double> matrix_efficiency;  // of the matrix rate inside the K loop
  BytesPerCycle cache_rate;            // L2 to one unit while all units read
  BytesPerCycle port_rate;             // L2 to one unit while few read
  double prologue_cycles = 0.0;        // until the first K step has its operands
  BytesPerCycle epilogue_rate;         // of one unit's results to memory
  double epilogue_overlap = 0.0;       // share of an epilogue that the next tile's K loop hides
  double hbm_share = 1.0;              // of the peak rate that operands and results achieve
  Seconds start_up;                    // of a kernel, besides the launch
  Seconds hbm_latency;                 // of a product that HBM bounds, besides its bytes
  Seconds split_latency;               // of reducing the partial sums of a split K loop
  double unaligned_share = 1.0;        // of the rate where a row's bytes are no multiple of 16
  double odd_share = 1.0;              // where they are no multiple of 4 either
};

GemmConstants read_gemm_constants(SourcedReader reader);

}  // namespace stepcast
