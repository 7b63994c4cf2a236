// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/chunk_store.hpp"

#include "catch.hpp"
#include "unit/sweep/sample_chunks.hpp"

namespace stepcast::chunk_stream_test {
namespace {

using test::kSmallGrid;

TEST_CASE("chunks stream in order with their texts, whatever the number of threads", "[unit]") {
  ChunksInMemory chunks;
  run_sweep(test::run_of(kSmallGrid), chunks, {});
  for (const int threads : {1, 4}) {
    CAPTURE(threads);
    std::string text;
    std::int64_t plans = 0;
    stream_chunks(
        chunks, kSmallGrid, threads,
        [](std::int64_t, const ChunkResult& chunk) {
          std::string lines;
          for (const PlanNumbers& numbers : chunk.priced) {
            lines += std::to_string(numbers.plan) + " ";
          }
          return std::vector<std::string>{lines, "x"};
        },
        [&](const ChunkResult& chunk, const std::vector<std::string>& texts) {
          REQUIRE(texts.size() == 2);
          text += texts.front();
          plans += std::ssize(chunk.priced);
        });
    CHECK(plans == 600);
    CHECK(text.starts_with("1 2 4 5 7 8 10 "));
    CHECK(text.ends_with("895 896 898 899 "));
  }
}

TEST_CASE("chunks that are not there are left out of the stream", "[unit]") {
  const ChunkGrid grid{900, 100};
  ChunksInMemory chunks;
  run_sweep(test::run_of(grid, {2, 3}), chunks, {});
  std::vector<std::int64_t> streamed;
  stream_chunks(
      chunks, grid, 3, [](std::int64_t, const ChunkResult&) { return std::vector<std::string>{}; },
      [&](const ChunkResult& chunk, const std::vector<std::string>&) {
        streamed.push_back(chunk.priced.front().plan / grid.chunk_plans);
      });
  CHECK(streamed == chunks_of(grid, {2, 3}));
  CHECK_FALSE(streamed.empty());
}

// The rate of a plan is 1000 - (index mod 7), so 7, 14, 28 ... are the best.
TEST_CASE("plans stream by rank, ties by index, in batches of any size", "[unit]") {
  ChunksInMemory chunks;
  run_sweep(test::run_of(kSmallGrid), chunks, {});
  for (const std::size_t batch : {std::size_t{1}, std::size_t{7}, std::size_t{100'000}}) {
    CAPTURE(batch);
    RankedStream ranking;
    for (std::int64_t plan = kSmallGrid.plans - 1; plan >= 0; --plan) {
      if (plan % 3 != 0) {
        ranking.add(-test::numbers_of(plan).tokens_per_second_per_gpu, plan);
      }
    }
    std::vector<PlanNumbers> ranked;
    ranking.stream(
        chunks, kSmallGrid,
        [&](const std::vector<PlanNumbers>& plans) {
          CHECK(plans.size() <= batch);
          ranked.insert(ranked.end(), plans.begin(), plans.end());
        },
        batch);
    REQUIRE(ranked.size() == 600);
    CHECK(ranked[0].plan == 7);
    CHECK(ranked[1].plan == 14);
    CHECK(ranked[2].plan == 28);
    for (std::size_t i = 1; i < ranked.size(); ++i) {
      const double before = ranked[i - 1].tokens_per_second_per_gpu;
      const double here = ranked[i].tokens_per_second_per_gpu;
      CHECK((before > here || (before == here && ranked[i - 1].plan < ranked[i].plan)));
    }
  }
}

}  // namespace
}  // namespace stepcast::chunk_stream_test
