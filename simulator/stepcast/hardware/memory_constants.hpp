// SPDX-License-Identifier: Apache-2.0
// What kernels bound by memory achieve, and what a value costs where bandwidth is not the limit.
//
//   rate          = path's share * min(streaming * hbm.achieved, units * unit_bandwidth)
//   compute time  = values * cycles of the path / (units * clock)
//
// Shares are of the part's own rates, so that a part without measurements scales from its family.
// Cycles are those of one compute unit for one value: they depend on how the kernels are written,
// not on the memory, and stay the same while the clock and the number of units change.
#pragma once

#include "stepcast/base/units.hpp"
#include "stepcast/hardware/provenance.hpp"

namespace stepcast {

struct MemoryConstants {
  Seconds ramp;                   // first and last accesses of a kernel, when little is in flight
  BytesPerSecond unit_bandwidth;  // that one compute unit keeps in flight
  double streaming = 1.0;         // large contiguous reads and writes, of hbm.achieved
  double gather = 1.0;            // rows in random order, of streaming
  double uncoalesced = 1.0;       // neighbours in different lines, of streaming
  double cache_share = 1.0;       // of the last-level cache that one tensor can use

  double indexed_cycles = 0.0;     // a value addressed on its own (strided, broadcast, converted)
  double arithmetic_cycles = 0.0;  // a value through exp, erf, running moments or random bits
  double atomic_cycles = 0.0;      // a 16-bit value added atomically
  double convert_cycles = 0.0;     // a value's maximum, or its scaling and conversion to 8 bits
  double update_cycles = 0.0;      // a parameter of a fused Adam step, not hidden by its traffic
  double row_cycles = 0.0;         // start and reduction of a row in a kernel of one group a row
};

MemoryConstants read_memory_constants(SourcedReader reader);

}  // namespace stepcast
