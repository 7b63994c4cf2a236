// SPDX-License-Identifier: Apache-2.0
// Where the finished chunks of a sweep are kept and read again: in memory, or in a part file
// (sweep_part.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "stepcast/result/sweep_summary.hpp"

namespace stepcast {

class ChunkReader {
 public:
  ChunkReader() = default;
  ChunkReader(const ChunkReader&) = delete;
  ChunkReader& operator=(const ChunkReader&) = delete;
  virtual ~ChunkReader() = default;

  [[nodiscard]] virtual bool has(std::int64_t chunk) const = 0;
  // Of a chunk that it has.
  [[nodiscard]] virtual ChunkResult read(std::int64_t chunk) const = 0;
  // Nothing where it has every chunk.
  [[nodiscard]] virtual std::optional<MissingParts> missing() const { return std::nullopt; }
};

// `keep` may be called by several threads at once; reading comes before or after.
class ChunkStore : public ChunkReader {
 public:
  virtual void keep(std::int64_t chunk, ChunkResult result) = 0;
};

class ChunksInMemory : public ChunkStore {
 public:
  [[nodiscard]] bool has(std::int64_t chunk) const override { return chunks_.contains(chunk); }
  [[nodiscard]] ChunkResult read(std::int64_t chunk) const override { return chunks_.at(chunk); }
  void keep(std::int64_t chunk, ChunkResult result) override {
    const std::scoped_lock lock(mutex_);
    chunks_.insert_or_assign(chunk, std::move(result));
  }

 private:
  std::mutex mutex_;
  std::map<std::int64_t, ChunkResult> chunks_;
};

}  // namespace stepcast
