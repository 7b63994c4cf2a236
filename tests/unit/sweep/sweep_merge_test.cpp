// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/sweep_merge.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"
#include "unit/sweep/sample_chunks.hpp"

namespace stepcast::sweep_merge_test {
namespace {

using test::config_error;
using test::contains_text;
using test::Folder;
using test::kSmallGrid;
using Paths = std::vector<std::filesystem::path>;

void make_shard(const std::filesystem::path& file, const Shard& shard,
                const std::string& digest = "digest") {
  PartHeader header = test::header_of(kSmallGrid, shard);
  header.digest = digest;
  SweepPart part(file, header, SweepPart::Existing::kRefuse);
  run_sweep(test::run_of(kSmallGrid, shard), part, {});
}

std::string fault_of(const Paths& files) {
  return config_error([&] { const MergedParts merged(files); });
}

TEST_CASE("three shards in any order are the whole", "[unit]") {
  const Folder folder("merge_whole");
  for (const int k : {1, 2, 3}) {
    make_shard(folder / std::to_string(k), {k, 3});
  }
  const MergedParts merged({folder / "3", folder / "1", folder / "2"});
  for (std::int64_t chunk = 0; chunk < kSmallGrid.chunks(); ++chunk) {
    REQUIRE(merged.has(chunk));
    CHECK(test::bytes_of(merged, chunk) == test::bytes_of(kSmallGrid, chunk));
  }
}

TEST_CASE("a single part of the whole merges", "[unit]") {
  const Folder folder("merge_single");
  make_shard(folder / "a", {});
  CHECK(MergedParts({folder / "a"}).has(9));
}

TEST_CASE("shards that are missing are named", "[unit]") {
  const Folder folder("merge_missing");
  make_shard(folder / "2", {2, 4});
  make_shard(folder / "3", {3, 4});
  CHECK_THAT(fault_of({folder / "2", folder / "3"}),
             contains_text("no parts of the shards 1/4, 4/4; give these as well"));
  make_shard(folder / "many", {7, 100});
  CHECK_THAT(fault_of({folder / "many"}), contains_text("9/100, 10/100, 11/100 and 89 more"));
  CHECK_THAT(fault_of({}), contains_text("give the part files"));
}

TEST_CASE("a shard given twice and shards of another division are refused", "[unit]") {
  const Folder folder("merge_twice");
  make_shard(folder / "1", {1, 2});
  make_shard(folder / "again", {1, 2});
  make_shard(folder / "2", {2, 2});
  make_shard(folder / "third", {3, 3});
  CHECK_THAT(fault_of({folder / "1", folder / "2", folder / "again"}),
             contains_text("again: error: shard 1/2, as ") && contains_text("/1 is"));
  CHECK_THAT(fault_of({folder / "1", folder / "2", folder / "third"}),
             contains_text("third: error: shard 3/3, but ") && contains_text("is shard 1/2"));
}

TEST_CASE("a part of another sweep is refused", "[unit]") {
  const Folder folder("merge_foreign");
  make_shard(folder / "1", {1, 2});
  make_shard(folder / "2", {2, 2}, "another");
  CHECK_THAT(fault_of({folder / "1", folder / "2"}),
             contains_text("2: error: a part of another sweep than "));
}

TEST_CASE("a part that is not finished says how much is missing", "[unit]") {
  const Folder folder("merge_incomplete");
  {
    SweepPart part(folder / "a", test::header_of(kSmallGrid), SweepPart::Existing::kRefuse);
    part.keep(4, test::result_of(kSmallGrid, 4));
  }
  CHECK_THAT(fault_of({folder / "a"}),
             contains_text("9 of 10 chunks are missing") && contains_text("--shard 1/1 --resume"));
}

TEST_CASE("every file that is no part is named at once", "[unit]") {
  const Folder folder("merge_none");
  CHECK_THAT(fault_of({folder / "x", folder / "y"}),
             contains_text("x: error: ") && contains_text("y: error: "));
}

}  // namespace
}  // namespace stepcast::sweep_merge_test
