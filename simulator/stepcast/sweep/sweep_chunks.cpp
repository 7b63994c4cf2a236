// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/sweep_chunks.hpp"

#include <algorithm>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/error.hpp"

namespace stepcast {
namespace {

std::uint64_t splitmix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// By how many places the shards of a block are turned.
std::int64_t turn_of(std::int64_t block, std::int64_t shards) {
  return static_cast<std::int64_t>(splitmix64(static_cast<std::uint64_t>(block)) %
                                   static_cast<std::uint64_t>(shards));
}

}  // namespace

std::string to_text(const Shard& shard) {
  return std::to_string(shard.number) + "/" + std::to_string(shard.of);
}

Shard parse_shard(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash != std::string::npos) {
    const std::string_view view = text;
    const auto number = parse_number<std::int64_t>(view.substr(0, slash));
    const auto of = parse_number<std::int64_t>(view.substr(slash + 1));
    if (number && of && *number >= 1 && *number <= *of && *of <= kMostShards) {
      return {*number, *of};
    }
  }
  throw ConfigError(
      {"--shard " + text, 0, 0},
      "write the number of the shard and how many there are, k/n with 1 <= k <= n <= " +
          std::to_string(kMostShards) + ", e.g. 2/3");
}

std::int64_t shard_of(std::int64_t chunk, std::int64_t shards) {
  const std::int64_t block = chunk / shards;
  return (chunk % shards + turn_of(block, shards)) % shards + 1;
}

std::vector<std::int64_t> chunks_of(const ChunkGrid& grid, const Shard& shard) {
  std::vector<std::int64_t> chunks;
  for (std::int64_t block = 0; block * shard.of < grid.chunks(); ++block) {
    const std::int64_t place = (shard.number - 1 - turn_of(block, shard.of) + shard.of) % shard.of;
    if (const std::int64_t chunk = block * shard.of + place; chunk < grid.chunks()) {
      chunks.push_back(chunk);
    }
  }
  return chunks;
}

std::int64_t pieces_of(const ChunkGrid& grid) {
  constexpr std::int64_t kPieceChunks = 16;
  constexpr std::int64_t kManyPieces = 256;
  const std::int64_t pieces =
      std::min(grid.chunks(), std::max(kManyPieces, grid.chunks() / kPieceChunks));
  return std::clamp<std::int64_t>(pieces, 1, kMostPieces);
}

}  // namespace stepcast
