// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/chunk_store.hpp"

#include <tbb/parallel_pipeline.h>

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "stepcast/base/error.hpp"
#include "stepcast/base/worker_arena.hpp"

namespace stepcast {
namespace {

struct ChunkWithTexts {
  ChunkResult result;
  std::vector<std::string> texts;
};

}  // namespace

void stream_chunks(const ChunkReader& chunks, const ChunkGrid& grid, int threads,
                   const ChunkTexts& texts, const TakeChunk& take) {
  using Piece = std::shared_ptr<ChunkWithTexts>;
  WorkerArena arena(threads);
  std::int64_t next = 0;
  const auto number = [&](tbb::flow_control& flow) {
    while (next < grid.chunks() && !chunks.has(next)) {
      ++next;
    }
    if (next >= grid.chunks()) {
      flow.stop();
    }
    return next++;
  };
  const auto read = [&](std::int64_t chunk) {
    auto piece = std::make_shared<ChunkWithTexts>();
    piece->result = chunks.read(chunk);
    piece->texts = texts(chunk, piece->result);
    return piece;
  };
  const auto hand_over = [&](const Piece& piece) { take(piece->result, piece->texts); };
  arena.run([&] {
    using Mode = tbb::filter_mode;
    tbb::parallel_pipeline(2 * static_cast<std::size_t>(arena.threads()),
                           tbb::make_filter<void, std::int64_t>(Mode::serial_in_order, number) &
                               tbb::make_filter<std::int64_t, Piece>(Mode::parallel, read) &
                               tbb::make_filter<Piece, void>(Mode::serial_in_order, hand_over));
  });
}

void RankedStream::stream(const ChunkReader& chunks, const ChunkGrid& grid, const Take& take,
                          std::size_t batch_plans) {
  std::ranges::sort(places_, [](const Place& a, const Place& b) {
    return std::tie(a.key, a.plan) < std::tie(b.key, b.plan);
  });
  for (std::size_t begin = 0; begin < places_.size(); begin += batch_plans) {
    take(batch(chunks, grid, begin, std::min(begin + batch_plans, places_.size())));
  }
}

std::vector<PlanNumbers> RankedStream::batch(const ChunkReader& chunks, const ChunkGrid& grid,
                                             std::size_t begin, std::size_t end) const {
  // Plans by index with their place, so that each chunk is read once.
  std::vector<std::pair<std::int64_t, std::size_t>> wanted;
  wanted.reserve(end - begin);
  for (std::size_t place = begin; place < end; ++place) {
    wanted.emplace_back(places_[place].plan, place - begin);
  }
  std::ranges::sort(wanted);
  std::vector<PlanNumbers> batch(end - begin);
  for (auto next = wanted.begin(); next != wanted.end();) {
    const std::int64_t chunk = next->first / grid.chunk_plans;
    const ChunkResult result = chunks.read(chunk);
    auto numbers = result.priced.begin();
    for (; next != wanted.end() && next->first < grid.end(chunk); ++next) {
      numbers = std::find_if(numbers, result.priced.end(),
                             [&next](const PlanNumbers& one) { return one.plan == next->first; });
      STEPCAST_CHECK(numbers != result.priced.end(), "a ranked plan is not among the chunks");
      batch[next->second] = *numbers;
    }
  }
  return batch;
}

}  // namespace stepcast
