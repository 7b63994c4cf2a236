// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "fuzz/targets.hpp"
#include "stepcast/base/error.hpp"
#include "stepcast/sweep/sweep_part.hpp"

namespace stepcast::fuzz {
namespace {

void check_chunk(const ReadAt& read, const PartTable& table, std::int64_t chunk) {
  ChunkResult result;
  try {
    result = read_chunk(read, table, chunk, "fuzz");
  } catch (const ConfigError&) {
    return;
  }
  std::int64_t plans = std::ssize(result.priced);
  for (const auto& [reason, refused] : result.refused) {
    promise(refused > 0, "a reason without plans");
    plans += refused;
  }
  promise(plans == table.header.grid.plans_of(chunk), "a chunk that loses plans");
  const std::string frame = encode_frame(chunk, result);
  promise(frame_is_whole(frame), "a chunk that cannot be written again");
}

}  // namespace

int fuzz_part(const std::uint8_t* data, std::size_t size) {
  const ReadAt read = [&](std::uint64_t offset, char* to, std::size_t length) {
    const std::size_t count =
        std::min<std::size_t>(length, size - std::min<std::uint64_t>(offset, size));
    if (count > 0) {
      std::memcpy(to, data + offset, count);
    }
    return count;
  };
  PartTable table;
  try {
    table = read_part_table(read, size, "fuzz");
  } catch (const ConfigError&) {
    return 0;
  }
  promise(table.end + table.cut == size, "bytes that are neither whole nor cut");
  for (const auto& [chunk, where] : table.places) {
    promise(chunk >= 0 && chunk < table.header.grid.chunks(), "a chunk that is not of the sweep");
    promise(where.payload + where.length < table.end, "a chunk beyond the end");
    check_chunk(read, table, chunk);
  }
  return 0;
}

}  // namespace stepcast::fuzz
