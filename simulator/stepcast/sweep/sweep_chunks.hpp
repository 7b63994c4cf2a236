// SPDX-License-Identifier: Apache-2.0
// How the plans of a sweep are split: into chunks of neighbouring indices, which one thread
// evaluates whole, and the chunks into shards, which one process or job of a cluster runs.
//
//   chunk of a plan   index / 2048, or as many more as make no more than 2^20 chunks
//   shard of a chunk  (chunk mod n + splitmix64(chunk / n)) mod n + 1: of each n neighbours every
//                     shard has one, and not always the same, so that shards are of one size and
//                     have plans of every kind
//
// Tasks that claim their work of a shared folder (piece_folder.hpp) do so by pieces: shards of
// which there are many more than tasks.
//
// Source of splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace stepcast {

inline constexpr std::int64_t kChunkPlans = 2048;
inline constexpr std::int64_t kMostChunks = std::int64_t{1} << 20;  // which a run keeps a list of

struct ChunkGrid {
  std::int64_t plans = 0;
  std::int64_t chunk_plans = kChunkPlans;

  [[nodiscard]] std::int64_t chunks() const {
    return plans / chunk_plans + (plans % chunk_plans == 0 ? 0 : 1);
  }
  [[nodiscard]] std::int64_t begin(std::int64_t chunk) const { return chunk * chunk_plans; }
  [[nodiscard]] std::int64_t end(std::int64_t chunk) const {
    return chunk + 1 < chunks() ? begin(chunk + 1) : plans;
  }
  [[nodiscard]] std::int64_t plans_of(std::int64_t chunk) const {
    return end(chunk) - begin(chunk);
  }

  bool operator==(const ChunkGrid&) const = default;
};

inline ChunkGrid chunk_grid(std::int64_t plans) {
  return {plans, std::max(kChunkPlans, plans / kMostChunks + (plans % kMostChunks == 0 ? 0 : 1))};
}

// The first of three: {1, 3}.
struct Shard {
  std::int64_t number = 1;
  std::int64_t of = 1;

  [[nodiscard]] bool whole() const { return of == 1; }
  bool operator==(const Shard&) const = default;
};

// "2/3"
std::string to_text(const Shard& shard);

inline constexpr std::int64_t kMostShards = 1'000'000;

// Reads "k/n" with 1 <= k <= n <= kMostShards. Throws ConfigError.
Shard parse_shard(const std::string& text);

// The number, 1 to `shards`, of the shard that a chunk belongs to.
std::int64_t shard_of(std::int64_t chunk, std::int64_t shards);

inline constexpr std::int64_t kMostPieces = 2048;  // a file each, which a merge has open at once

// Into how many pieces tasks divide a sweep, 1 to kMostPieces: a chunk each of a small sweep, 16
// chunks, some tenths of a second to half a minute of work, or more of a large one.
std::int64_t pieces_of(const ChunkGrid& grid);

// In rising order.
std::vector<std::int64_t> chunks_of(const ChunkGrid& grid, const Shard& shard);

}  // namespace stepcast
