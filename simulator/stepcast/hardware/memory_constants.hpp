// SPDX-License-Identifier: Apache-2.0
// What kernels bound by memory achieve, and what a value costs where bandwidth is not the limit;
// memory_constants() says what each number is.
//
//   rate          = path's share * min(streaming * hbm.achieved, units * unit_bandwidth)
//   compute time  = values * cycles of the path / (units * clock)
//
// Shares are of the part's own rates, so that a part without measurements scales from its family.
// Cycles are those of one compute unit for one value: they depend on how the kernels are written,
// not on the memory, and stay the same while the clock and the number of units change.
#pragma once

#include "stepcast/base/units.hpp"
#include "stepcast/hardware/constant.hpp"

namespace stepcast {

struct MemoryConstants {
  Seconds ramp;
  BytesPerSecond unit_bandwidth;
  double streaming = 1.0;
  double gather = 1.0;
  double uncoalesced = 1.0;
  double cache_share = 1.0;

  double indexed_cycles = 0.0;
  double arithmetic_cycles = 0.0;
  double atomic_cycles = 0.0;
  double convert_cycles = 0.0;
  double update_cycles = 0.0;
  double row_cycles = 0.0;
};

std::span<const Constant<MemoryConstants>> memory_constants();

}  // namespace stepcast
