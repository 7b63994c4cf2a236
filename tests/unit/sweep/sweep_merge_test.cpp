// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/sweep_merge.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/sweep/piece_folder.hpp"
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
  return config_error([&] { const MergedParts merged({files, {}}); });
}

TEST_CASE("three shards in any order are the whole", "[unit]") {
  const Folder folder("merge_whole");
  for (const int k : {1, 2, 3}) {
    make_shard(folder / std::to_string(k), {k, 3});
  }
  const MergedParts merged({{folder / "3", folder / "1", folder / "2"}, {}});
  for (std::int64_t chunk = 0; chunk < kSmallGrid.chunks(); ++chunk) {
    REQUIRE(merged.has(chunk));
    CHECK(test::bytes_of(merged, chunk) == test::bytes_of(kSmallGrid, chunk));
  }
}

TEST_CASE("a single part of the whole merges", "[unit]") {
  const Folder folder("merge_single");
  make_shard(folder / "a", {});
  CHECK(MergedParts({{folder / "a"}, {}}).has(9));
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

TEST_CASE("what is there of three shards is merged if that is asked for", "[unit]") {
  const Folder folder("merge_partial");
  make_shard(folder / "1", {1, 3});
  make_shard(folder / "3", {3, 3});
  const MergedParts merged({{folder / "3", folder / "1"}, {}}, MergedParts::Missing::kAccept);
  std::int64_t plans = 0;
  for (std::int64_t chunk = 0; chunk < kSmallGrid.chunks(); ++chunk) {
    CHECK(merged.has(chunk) == (shard_of(chunk, 3) != 2));
    if (merged.has(chunk)) {
      CHECK(test::bytes_of(merged, chunk) == test::bytes_of(kSmallGrid, chunk));
    } else {
      plans += kSmallGrid.plans_of(chunk);
    }
  }
  const auto missing = merged.missing();
  REQUIRE(missing);
  CHECK(missing->numbers == std::vector<std::int64_t>{2});
  CHECK(missing->of == 3);
  CHECK(missing->plans == plans);
}

TEST_CASE("a whole has nothing missing, and a torn part its chunks", "[unit]") {
  const Folder folder("merge_torn");
  make_shard(folder / "1", {1, 2});
  make_shard(folder / "2", {2, 2});
  CHECK_FALSE(MergedParts({{folder / "1", folder / "2"}, {}}).missing());
  std::filesystem::resize_file(folder / "2", std::filesystem::file_size(folder / "2") - 1);
  const MergedParts merged({{folder / "1", folder / "2"}, {}}, MergedParts::Missing::kAccept);
  REQUIRE(merged.missing());
  CHECK(merged.missing()->numbers == std::vector<std::int64_t>{2});
  CHECK((merged.missing()->plans == 100 || merged.missing()->plans == 1));
}

TEST_CASE("a folder stands for the parts in it", "[unit]") {
  const Folder folder("merge_folder");
  std::filesystem::create_directory(folder / "p");
  CHECK_THAT(config_error([&] { part_files({folder / "p"}); }),
             contains_text("p: error: there is no part in the folder"));
  make_shard(folder / "p/b.part", {2, 2});
  make_shard(folder / "p/a.part", {1, 2});
  make_shard(folder / "p/c", {1, 3});
  CHECK(part_files({folder / "p"}).files == Paths{folder / "p/a.part", folder / "p/b.part"});
  CHECK(part_files({folder / "p"}).pieces.empty());
  CHECK(part_files({folder / "p/c", "x"}).files == Paths{folder / "p/c", "x"});
  CHECK_THAT(config_error([&] {
               part_files({"x", folder / "p"});
             }),
             contains_text("p: error: give one folder of parts alone"));
}

TEST_CASE("pieces that are missing are named as ranges, with what prices them", "[unit]") {
  const Folder folder("merge_pieces");
  PieceFolder pieces(folder / "p", test::header_of(kSmallGrid), this_task("", ""), {});
  CHECK_THAT(config_error([&] { part_files({folder / "p"}); }),
             contains_text("no piece is finished yet") &&
                 contains_text("stepcast sweep --pieces " + (folder / "p").string()));
  for (const std::int64_t piece : {1, 5, 6, 10}) {
    make_shard(folder / ("p/piece_" + std::to_string(piece) + ".part"), {piece, 10});
  }
  const std::string fault =
      config_error([&] { const MergedParts merged(part_files({folder / "p"})); });
  CHECK_THAT(fault, contains_text("pieces 2-4, 7-9 of 10 are missing, "));
  CHECK_THAT(fault, contains_text("stepcast sweep --pieces " + (folder / "p").string()));
}

TEST_CASE("ranges of many numbers end with how many there are more", "[unit]") {
  CHECK(ranges_text({}).empty());
  CHECK(ranges_text({3}) == "3");
  CHECK(ranges_text({1, 2, 3, 7, 9, 10}) == "1-3, 7, 9-10");
  std::vector<std::int64_t> odd;
  for (std::int64_t i = 0; i < 25; ++i) {
    odd.push_back(2 * i + 1);
  }
  CHECK_THAT(ranges_text(odd), contains_text("37, 39 and 5 more"));
  CHECK(missing_text({5, {2}, 8}, 40) == "12.5 % of the plans, in part 2 of 8");
  CHECK(missing_text({1, {2, 3, 4, 7}, 8}, 100'000) ==
        "0.0010 % of the plans, in parts 2-4, 7 of 8");
}

}  // namespace
}  // namespace stepcast::sweep_merge_test
