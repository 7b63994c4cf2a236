// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/sweep_chunks.hpp"

#include <algorithm>

#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast::sweep_chunks_test {
namespace {

TEST_CASE("chunks are neighbours, and the last has what is left", "[unit]") {
  const ChunkGrid grid{5000};
  CHECK(grid.chunks() == 3);
  CHECK(grid.begin(1) == 2048);
  CHECK(grid.end(1) == 4096);
  CHECK(grid.end(2) == 5000);
  CHECK(grid.plans_of(2) == 904);
  CHECK(ChunkGrid{4096}.chunks() == 2);
  CHECK(ChunkGrid{4096}.plans_of(1) == 2048);
  CHECK(ChunkGrid{0}.chunks() == 0);
}

TEST_CASE("every chunk is in exactly one shard, and shards are of like size", "[unit]") {
  const ChunkGrid grid{1'000'000, 100};
  std::vector<std::int64_t> all;
  for (std::int64_t k = 1; k <= 4; ++k) {
    const std::vector<std::int64_t> chunks = chunks_of(grid, {k, 4});
    CHECK(chunks.size() == 2500);
    CHECK(std::all_of(chunks.begin(), chunks.end(),
                      [k](std::int64_t chunk) { return shard_of(chunk, 4) == k; }));
    CHECK(std::is_sorted(chunks.begin(), chunks.end()));
    all.insert(all.end(), chunks.begin(), chunks.end());
  }
  std::sort(all.begin(), all.end());
  CHECK(all == chunks_of(grid, {}));
}

// The first output of the published generator from the seed 0 is e220a8397b1dcdaf.
TEST_CASE("the shards of neighbours are turned by splitmix64", "[unit]") {
  const auto turn = static_cast<std::int64_t>(0xe220a8397b1dcdafULL % 7ULL);
  for (std::int64_t chunk = 0; chunk < 7; ++chunk) {
    CHECK(shard_of(chunk, 7) == (chunk + turn) % 7 + 1);
  }
}

TEST_CASE("what recurs with every n-th chunk is in every shard", "[unit]") {
  for (std::int64_t k = 1; k <= 8; ++k) {
    const std::vector<std::int64_t> chunks = chunks_of({100'000, 100}, {k, 8});
    for (std::int64_t rest = 0; rest < 8; ++rest) {
      CAPTURE(k, rest);
      CHECK(std::count_if(chunks.begin(), chunks.end(),
                          [rest](std::int64_t chunk) { return chunk % 8 == rest; }) > 4);
    }
  }
}

TEST_CASE("a small sweep has a piece for each chunk, a large one a bounded number", "[unit]") {
  const auto pieces = [](std::int64_t chunks) { return pieces_of({chunks * 100, 100}); };
  CHECK(pieces(0) == 1);
  CHECK(pieces(1) == 1);
  CHECK(pieces(37) == 37);
  CHECK(pieces(256) == 256);
  CHECK(pieces(1000) == 256);
  CHECK(pieces(6982) == 436);
  CHECK(pieces(1'000'000) == kMostPieces);
}

TEST_CASE("a shard is written k/n", "[unit]") {
  CHECK(parse_shard("2/3") == Shard{2, 3});
  CHECK(parse_shard("1/1").whole());
  CHECK(to_text(Shard{2, 3}) == "2/3");
  for (const char* text : {"", "/", "0/3", "4/3", "1", "1/0", "-1/3", "1/3 ", "a/b", "1/2/3",
                           "1/1000001", "99999999999999999999/3"}) {
    CAPTURE(text);
    CHECK_THAT(test::config_error([&] { parse_shard(text); }), test::contains_text("1 <= k <= n"));
  }
}

}  // namespace

TEST_CASE("A sweep of any size has no more than 2^20 chunks", "[unit]") {
  CHECK(chunk_grid(1).chunk_plans == 2048);
  CHECK(chunk_grid(std::int64_t{1} << 31).chunk_plans == 2048);
  for (const std::int64_t plans :
       {(std::int64_t{1} << 31) + 1, std::int64_t{1'000'000'000'000}, std::int64_t{1} << 40}) {
    const ChunkGrid grid = chunk_grid(plans);
    CHECK(grid.chunks() <= kMostChunks);
    CHECK(grid.end(grid.chunks() - 1) == plans);
  }
}

}  // namespace stepcast::sweep_chunks_test
