// SPDX-License-Identifier: Apache-2.0
// What was kept of a sweep as a stream in the order of the indices, or of a ranking, of which only
// a few chunks are in memory at a time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "stepcast/sweep/chunk_store.hpp"
#include "stepcast/sweep/sweep_chunks.hpp"

namespace stepcast {

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
