// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/piece_folder.hpp"

#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <thread>

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/sweep/sweep_part.hpp"
#include "unit/sweep/sample_chunks.hpp"

namespace stepcast::piece_folder_test {
namespace {

using test::config_error;
using test::contains_text;
using test::Folder;
using test::kSmallGrid;
namespace fs = std::filesystem;

// 10 chunks are 10 pieces.
PieceFolder open(const fs::path& folder, const std::string& submission = "first",
                 const std::vector<std::string>& beside = {}) {
  return {folder, test::header_of(kSmallGrid), this_task(submission, ""), beside};
}

// As if a task of another host had claimed it.
void claim_elsewhere(const fs::path& file, const std::string& submission) {
  std::ofstream(file) << to_text({submission, "1", "no host of this name", 1, 1});
}

void write_part(const PieceFolder& pieces, const PieceClaim& claim) {
  const PartHeader header = pieces.header(claim.piece);
  SweepPart part(pieces.open_part(claim), header, SweepPart::Existing::kRefuse);
  for (const std::int64_t chunk : chunks_of(header.grid, header.shard)) {
    part.keep(chunk, test::result_of(header.grid, chunk));
  }
}

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

TEST_CASE("each piece is claimed once, whoever asks", "[unit]") {
  const Folder folder("pieces_once");
  PieceFolder a = open(folder / "p");
  PieceFolder b = open(folder / "p", "second");
  REQUIRE(a.pieces() == 10);
  std::set<std::int64_t> claimed;
  for (int i = 0; i < 10; ++i) {
    const auto claim = (i % 3 == 0 ? a : b).claim();
    REQUIRE(claim);
    CHECK(claim->number == 1);
    CHECK(claimed.insert(claim->piece).second);
  }
  CHECK(claimed.size() == 10);
  CHECK_FALSE(a.claim());
  CHECK_FALSE(b.claim());
}

TEST_CASE("threads of many folders at once claim no piece twice", "[unit]") {
  const Folder folder("pieces_race");
  const ChunkGrid grid{25'000, 100};
  constexpr int kTasks = 8;
  std::vector<std::vector<std::int64_t>> claimed(kTasks);
  {
    std::vector<std::jthread> tasks;
    for (auto& list : claimed) {
      tasks.emplace_back([&] {
        // All are one process; with a start of its own each has a file of its own.
        PieceTask self = this_task("race", "");
        self.started += &list - claimed.data();
        PieceFolder pieces(folder / "p", test::header_of(grid), self, {"race"});
        while (const auto claim = pieces.claim()) {
          list.push_back(claim->piece);
        }
      });
    }
  }
  std::set<std::int64_t> all;
  for (const auto& list : claimed) {
    for (const std::int64_t piece : list) {
      CHECK(all.insert(piece).second);
    }
  }
  CHECK(all.size() == 250);
}

TEST_CASE("a finished part has its name, and nothing else is left", "[unit]") {
  const Folder folder("pieces_finish");
  {
    PieceFolder pieces = open(folder / "p");
    while (const auto claim = pieces.claim()) {
      CHECK_FALSE(pieces.states().at(claim->piece).there);
      write_part(pieces, *claim);
      CHECK_FALSE(pieces.states().at(claim->piece).there);
      pieces.finish(*claim);
      CHECK(pieces.states().at(claim->piece).there);
    }
  }
  std::set<std::string> expected{"sweep.pieces", "piece_0010.part"};
  for (int piece = 1; piece < 10; ++piece) {
    expected.insert("piece_000" + std::to_string(piece) + ".part");
  }
  CHECK(names_in(folder / "p") == expected);
  const SweepPart part(folder / "p/piece_0003.part");
  CHECK(part.header().shard == Shard{3, 10});
  CHECK(part.missing_chunks() == 0);
}

TEST_CASE("a piece that is given back is claimed again", "[unit]") {
  const Folder folder("pieces_back");
  PieceFolder pieces = open(folder / "p");
  std::vector<PieceClaim> claims;
  while (const auto claim = pieces.claim()) {
    claims.push_back(*claim);
  }
  write_part(pieces, claims[4]);
  pieces.give_back(claims[4]);
  CHECK_FALSE(fs::exists(pieces.open_part(claims[4])));
  const auto again = open(folder / "p", "second").claim();
  REQUIRE(again);
  CHECK(again->piece == claims[4].piece);
}

TEST_CASE("a hole is filled last, by one task, and its claim stays below", "[unit]") {
  const Folder folder("pieces_hole");
  PieceFolder second = open(folder / "p", "second");
  PieceFolder third = open(folder / "p", "third");
  claim_elsewhere(folder / "p/piece_0004.claim_1", "first");
  for (int i = 0; i < 9; ++i) {
    CHECK(second.claim()->piece != 4);
  }
  const auto hole = second.claim();
  REQUIRE(hole);
  CHECK(hole->piece == 4);
  CHECK(hole->number == 2);
  CHECK_FALSE(third.claim());
  write_part(second, *hole);
  second.finish(*hole);
  CHECK_FALSE(fs::exists(folder / "p/piece_0004.claim_1"));
  CHECK_FALSE(fs::exists(folder / "p/piece_0004.claim_2"));
}

TEST_CASE("of two tasks that see a hole at once one has it", "[unit]") {
  const Folder folder("pieces_two");
  for (int round = 0; round < 20; ++round) {
    const fs::path path = folder / std::to_string(round);
    // One process; with a start of its own each has a file of its own.
    PieceTask third = this_task("third", "");
    third.started += 1;
    PieceFolder a(path, test::header_of({100, 100}), this_task("second", ""), {"third"});
    PieceFolder b(path, test::header_of({100, 100}), third, {"second"});
    claim_elsewhere(path / "piece_0001.claim_1", "first");
    std::optional<PieceClaim> of_a;
    std::optional<PieceClaim> of_b;
    {
      const std::jthread one([&] { of_a = a.claim(); });
      of_b = b.claim();
    }
    CHECK(of_a.has_value() != of_b.has_value());
  }
}

TEST_CASE("a submission that is said to run keeps its claims", "[unit]") {
  const Folder folder("pieces_beside");
  PieceFolder pieces(folder / "p", test::header_of({100, 100}), this_task("second", ""), {"first"});
  claim_elsewhere(folder / "p/piece_0001.claim_1", "first");
  CHECK_FALSE(pieces.claim());
  // Whoever filled the hole after it does not.
  claim_elsewhere(folder / "p/piece_0001.claim_2", "between");
  CHECK(pieces.claim()->number == 3);
}

TEST_CASE("a claim that cannot be read is nobody's", "[unit]") {
  const Folder folder("pieces_damaged");
  PieceFolder pieces(folder / "p", test::header_of({100, 100}), this_task("second", ""), {});
  std::ofstream(folder / "p/piece_0001.claim_1") << "{\"submission\":";
  CHECK(pieces.claim()->number == 2);
}

// A task that was taken for ended and is not comes second.
TEST_CASE("a part that is there already is not claimed and may be finished twice", "[unit]") {
  const Folder folder("pieces_twice");
  const PartHeader header = test::header_of({100, 100});
  PieceFolder first(folder / "p", header, this_task("first", ""), {});
  const auto slow = first.claim();
  REQUIRE(slow);
  write_part(first, *slow);
  PieceFolder second(folder / "p", header, this_task("second", ""), {});
  const PieceClaim fast{1, 2, 0};
  write_part(second, fast);
  second.finish(fast);
  CHECK_FALSE(fs::exists(first.open_part(*slow)));
  CHECK_NOTHROW(first.finish(*slow));
  CHECK_FALSE(first.claim());
  CHECK(names_in(folder / "p").count("piece_0001.claim_1") == 0);
  CHECK(SweepPart(folder / "p/piece_0001.part").missing_chunks() == 0);
}

TEST_CASE("other files of the folder are no pieces", "[unit]") {
  const Folder folder("pieces_others");
  const PieceFolder pieces = open(folder / "p");
  for (const char* name :
       {"piece_0001.log", "piece_.part", "piece_0011.part", "piece_-1.part", "piece_0002.claim_",
        "report.json", "piece_0003.claim_2x", "piece_0004.open_1", "task_1.log"}) {
    std::ofstream(folder / "p" / name) << "x";
  }
  for (const auto& [piece, state] : pieces.states()) {
    CAPTURE(piece);
    CHECK_FALSE(state.there);
    CHECK(state.claims == 0);
  }
}

TEST_CASE("once every part is there nothing is left of tasks that ended", "[unit]") {
  const Folder folder("pieces_left");
  const fs::path path = folder / "p";
  {
    PieceFolder pieces = open(path);
    const PieceTask self = this_task("first", "");
    PieceTask ended = self;
    ended.started -= 1;  // a process of the same number before
    for (const char* kind : {"task_", "header_"}) {
      std::ofstream(path / (kind + process_text(ended))) << "x";
      std::ofstream(path / (kind + process_text({"a", "1", "another-host", 1, 1}))) << "x";
    }
    std::optional<PieceClaim> last = pieces.claim();
    while (const auto claim = pieces.claim()) {
      write_part(pieces, *last);
      pieces.finish(*last);
      last = claim;
    }
    std::ofstream(path / "piece_0003.claim_1") << "x";
    std::ofstream(path / "piece_0004.open_2") << "x";
    pieces.remove_leftovers();  // one piece is not there
    CHECK(names_in(path).contains("task_" + process_text(ended)));
    CHECK(names_in(path).contains("piece_0004.open_2"));
    write_part(pieces, *last);
    pieces.finish(*last);
    pieces.remove_leftovers();
    CHECK(names_in(path).contains("task_" + process_text(self)));
  }
  const std::set<std::string> names = names_in(path);
  CHECK(names.size() == 10 + 1 + 2);
  CHECK(names.contains("task_another-host_1_1"));
  CHECK(names.contains("header_another-host_1_1"));
}

TEST_CASE("a folder says what sweep it is of, and another is refused", "[unit]") {
  const Folder folder("pieces_foreign");
  CHECK_FALSE(sweep_in(folder / "p").has_value());
  { const PieceFolder pieces = open(folder / "p"); }
  const auto found = sweep_in(folder / "p");
  REQUIRE(found);
  CHECK(found->digest == "digest");
  CHECK(found->shard.of == 10);
  CHECK(found->source.text == "plan: all\n");
  const auto fault_of = [&](const PartHeader& header) {
    return config_error([&] { PieceFolder(folder / "p", header, this_task("", ""), {}); });
  };
  PartHeader other = test::header_of(kSmallGrid);
  other.digest = "another";
  CHECK_THAT(fault_of(other), contains_text("p: error: a part of another sweep"));
  other = test::header_of(kSmallGrid);
  other.top = 20;
  CHECK_THAT(fault_of(other), contains_text("the part is for every plan, not for the 20 best"));
  std::ofstream(folder / "file") << "x";
  CHECK_THAT(config_error([&] { open(folder / "file"); }), contains_text("cannot make the folder"));
}

}  // namespace
}  // namespace stepcast::piece_folder_test
