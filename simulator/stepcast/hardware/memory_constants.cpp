// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/memory_constants.hpp"

#include "stepcast/hardware/share_range.hpp"

namespace stepcast {
namespace {

constexpr Range<double> kCycles{0.0, 1e5};
// hbm.achieved is that of a copy; more reads than writes run a little faster.
constexpr Range<double> kOfCopy{0.1, 1.15};

}  // namespace

MemoryConstants read_memory_constants(SourcedReader reader) {
  MemoryConstants memory;
  memory.ramp = reader.quantity<Seconds>("ramp");
  memory.unit_bandwidth = reader.quantity<BytesPerSecond>("unit_bandwidth");
  memory.streaming = reader.number("streaming", kOfCopy);
  memory.gather = reader.number("gather", kShare);
  memory.uncoalesced = reader.number("uncoalesced", kShare);
  memory.cache_share = reader.number("cache_share", kFraction);
  memory.indexed_cycles = reader.number("indexed_cycles", kCycles);
  memory.arithmetic_cycles = reader.number("arithmetic_cycles", kCycles);
  memory.atomic_cycles = reader.number("atomic_cycles", kCycles);
  memory.convert_cycles = reader.number("convert_cycles", kCycles);
  memory.update_cycles = reader.number("update_cycles", kCycles);
  memory.row_cycles = reader.number("row_cycles", kCycles);
  if (reader.has("unit_bandwidth") && !(memory.unit_bandwidth.value() > 0.0)) {
    reader.reader().error("unit_bandwidth", "must be greater than 0");
  }
  reader.finish();
  return memory;
}

}  // namespace stepcast
