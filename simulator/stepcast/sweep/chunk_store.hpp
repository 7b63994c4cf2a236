// SPDX-License-Identifier: Apache-2.0
// Where the finished chunks of a sweep are kept and read again: in memory, or in a part file
// (sweep_part.hpp). Read as a stream, in the order of the indices or of a ranking, only a few
// chunks are in memory at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stepcast/result/sweep_summary.hpp"
#include "stepcast/sweep/sweep_chunks.hpp"

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

// What a chunk of a number is in each of several files; several threads call it at once.
using ChunkTexts = std::function<std::vector<std::string>(std::int64_t, const ChunkResult&)>;
// Takes chunks, with their texts, one after the other in order.
using TakeChunk = std::function<void(const ChunkResult&, const std::vector<std::string>& texts)>;

// The chunks of the grid that there are.
void stream_chunks(const ChunkReader& chunks, const ChunkGrid& grid, int threads,
                   const ChunkTexts& texts, const TakeChunk& take);

// The plans of a sweep by rank: 16 bytes of each are kept, and its numbers are read again.
class RankedStream {
 public:
  // Less is better; ties go by index.
  void add(double key, std::int64_t plan) { places_.push_back({key, plan}); }

  using Take = std::function<void(const std::vector<PlanNumbers>& batch)>;
  // Gives all plans that were added, the best first, in batches; each reads the chunks once.
  void stream(const ChunkReader& chunks, const ChunkGrid& grid, const Take& take,
              std::size_t batch_plans = kBatchPlans);

 private:
  static constexpr std::size_t kBatchPlans = std::size_t{1} << 20U;  // 144 MiB of numbers
  struct Place {
    double key = 0.0;
    std::int64_t plan = 0;
  };
  [[nodiscard]] std::vector<PlanNumbers> batch(const ChunkReader& chunks, const ChunkGrid& grid,
                                               std::size_t begin, std::size_t end) const;
  std::vector<Place> places_;
};

}  // namespace stepcast
