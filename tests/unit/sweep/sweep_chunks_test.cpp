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
    CHECK(chunks.size() > 2300);  // 10,000 / 4, give or take four deviations
    CHECK(chunks.size() < 2700);
    CHECK(std::is_sorted(chunks.begin(), chunks.end()));
    all.insert(all.end(), chunks.begin(), chunks.end());
  }
  std::sort(all.begin(), all.end());
  CHECK(all == chunks_of(grid, {}));
}

// The first output of the published generator from the seed 0 is e220a8397b1dcdaf.
TEST_CASE("shards follow splitmix64", "[unit]") {
  CHECK(shard_of(0, 1'000'000) ==
        static_cast<std::int64_t>(0xe220a8397b1dcdafULL % 1'000'000ULL) + 1);
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
}  // namespace stepcast::sweep_chunks_test
