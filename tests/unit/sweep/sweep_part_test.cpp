// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/sweep_part.hpp"

#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <memory>

#include "catch.hpp"
#include "sample_specs.hpp"
#include "unit/sweep/sample_chunks.hpp"

namespace stepcast::sweep_part_test {
namespace {

using test::config_error;
using test::contains_text;
using test::Folder;
using test::kSmallGrid;
using Existing = SweepPart::Existing;

std::string contents(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void put(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

// A part with the chunks named.
void make_part(const std::filesystem::path& file, const std::vector<std::int64_t>& chunks,
               const PartHeader& header = test::header_of(kSmallGrid)) {
  SweepPart part(file, header, Existing::kRefuse);
  for (const std::int64_t chunk : chunks) {
    part.keep(chunk, test::result_of(kSmallGrid, chunk));
  }
  part.sync();
}

TEST_CASE("a part gives back what was kept, bit for bit and in any order", "[unit]") {
  const Folder folder("part_back");
  make_part(folder / "a.part", {7, 0, 9});
  const SweepPart part(folder / "a.part");
  CHECK(part.table().cut == 0);
  CHECK(part.missing_chunks() == 7);
  for (const std::int64_t chunk : {0, 7, 9}) {
    REQUIRE(part.has(chunk));
    CHECK(test::bytes_of(part, chunk) == test::bytes_of(kSmallGrid, chunk));
  }
  CHECK_FALSE(part.has(1));
  CHECK(part.read(9).priced.empty());  // plan 900 alone, which 3 divides
  CHECK(part.read(0).priced.size() == 66);
  CHECK(part.read(0).refused.at("does not fit in memory") == 17);
}

TEST_CASE("a part says what it is of", "[unit]") {
  const Folder folder("part_header");
  make_part(folder / "a.part", {}, test::header_of(kSmallGrid, {2, 3}));
  const SweepPart part(folder / "a.part");
  CHECK(part.header().digest == "digest");
  CHECK(part.header().grid == kSmallGrid);
  CHECK(part.header().shard == Shard{2, 3});
  CHECK(part.header().source.name == "sweep.yaml");
  CHECK(part.header().source.folder == "folder");
  CHECK(part.header().source.text == "plan: all\n");
  CHECK(part.header().source.overrides == std::vector<Override>{"plan.tp=2"});
  CHECK(part.header().source.version == "0.1");
}

// The layout is that of the docstring: magic, 2, 13 + kAxes fields of 8 bytes.
TEST_CASE("the bytes of a part are laid out as they are documented", "[unit]") {
  const std::string header = encode_header(test::header_of(kSmallGrid));
  CHECK(header.substr(0, 8) == "STEPCAST");
  CHECK(header.substr(8, 4) == std::string("\x02\0\0\0", 4));
  CHECK(header.substr(12, 4) == std::string("\x90\0\0\0", 4));  // 18 * 8 = 144
  ChunkResult result;
  result.refused["no"] = 3;
  const std::string frame = encode_frame(258, result);
  CHECK(frame.substr(0, 8) == std::string("\x02\x01\0\0\0\0\0\0", 8));
  CHECK(frame.size() == 16 + (8 + 4 + 4 + 2 + 8 + 8) + 4);
}

TEST_CASE("wherever a part is torn, the whole chunks before it are kept", "[unit]") {
  const Folder folder("part_torn");
  make_part(folder / "a.part", {3, 4});
  const std::string whole = contents(folder / "a.part");
  const std::size_t header = encode_header(test::header_of(kSmallGrid)).size();
  const std::size_t first = header + test::bytes_of(kSmallGrid, 3).size();
  for (std::size_t size = header; size < whole.size(); size += size % 64 == 0 ? 61 : 1) {
    CAPTURE(size);
    put(folder / "torn.part", whole.substr(0, size));
    const SweepPart part(folder / "torn.part");
    CHECK(part.has(3) == (size >= first));
    CHECK_FALSE(part.has(4));
    CHECK(part.table().cut == size - (size >= first ? first : header));
  }
}

TEST_CASE("a changed byte anywhere in a chunk cuts it off", "[unit]") {
  const Folder folder("part_changed");
  make_part(folder / "a.part", {3, 4});
  const std::string whole = contents(folder / "a.part");
  const std::size_t second =
      encode_header(test::header_of(kSmallGrid)).size() + test::bytes_of(kSmallGrid, 3).size();
  for (std::size_t at = second; at < whole.size(); at += 37) {
    CAPTURE(at);
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    put(folder / "changed.part", changed);
    const SweepPart part(folder / "changed.part");
    CHECK(part.has(3));
    CHECK_FALSE(part.has(4));
    CHECK(part.table().cut == whole.size() - second);
  }
}

TEST_CASE("a torn part goes on where it was whole", "[unit]") {
  const Folder folder("part_continue");
  make_part(folder / "whole.part", {3, 4, 5});
  make_part(folder / "a.part", {3, 4});
  put(folder / "torn.part", contents(folder / "a.part").substr(0, 12'000));
  {
    SweepPart part(folder / "torn.part", test::header_of(kSmallGrid), Existing::kContinue);
    CHECK(part.has(3));
    REQUIRE_FALSE(part.has(4));
    part.keep(4, test::result_of(kSmallGrid, 4));
    part.keep(5, test::result_of(kSmallGrid, 5));
  }
  CHECK(contents(folder / "torn.part") == contents(folder / "whole.part"));
}

TEST_CASE("a part that was torn within its header starts again", "[unit]") {
  const Folder folder("part_torn_header");
  const std::string header = encode_header(test::header_of(kSmallGrid));
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{5}, std::size_t{19}, std::size_t{20}, header.size() - 1}) {
    CAPTURE(size);
    put(folder / "a.part", header.substr(0, size));
    CHECK_THAT(config_error([&] { const SweepPart part(folder / "a.part"); }),
               contains_text("ends within its header"));
    const SweepPart part(folder / "a.part", test::header_of(kSmallGrid), Existing::kContinue);
    CHECK(part.table().chunks() == 0);
    CHECK(contents(folder / "a.part") == header);
  }
}

TEST_CASE("an existing part is refused unless it is to be continued", "[unit]") {
  const Folder folder("part_exists");
  make_part(folder / "a.part", {1});
  const std::string before = contents(folder / "a.part");
  CHECK_THAT(config_error([&] {
               SweepPart(folder / "a.part", test::header_of(kSmallGrid), Existing::kRefuse);
             }),
             contains_text("--resume"));
  CHECK(contents(folder / "a.part") == before);
}

TEST_CASE("a part of another sweep, size, shard or version is refused and left as it is",
          "[unit]") {
  const Folder folder("part_foreign");
  make_part(folder / "a.part", {1});
  const std::string before = contents(folder / "a.part");
  const auto continue_as = [&](const PartHeader& header) {
    return config_error([&] { SweepPart(folder / "a.part", header, Existing::kContinue); });
  };
  PartHeader other = test::header_of(kSmallGrid);
  other.digest = "another";
  CHECK_THAT(continue_as(other), contains_text("a part of another sweep"));
  CHECK_THAT(continue_as(test::header_of({900, 100})), contains_text("a part of another sweep"));
  CHECK_THAT(continue_as(test::header_of(kSmallGrid, {2, 3})),
             contains_text("the part is shard 1/1, not 2/3"));
  CHECK(contents(folder / "a.part") == before);

  std::string newer = before;
  newer[8] = 9;
  put(folder / "a.part", newer);
  CHECK_THAT(continue_as(test::header_of(kSmallGrid)), contains_text("format version 9"));
  put(folder / "a.part", "model: llama3.1_8b\ncluster: {gpu: h100_sxm}\n");
  CHECK_THAT(continue_as(test::header_of(kSmallGrid)), contains_text("no part of a sweep"));
  std::string damaged = before;
  damaged[30] = static_cast<char>(damaged[30] ^ 1);
  put(folder / "a.part", damaged);
  CHECK_THAT(continue_as(test::header_of(kSmallGrid)), contains_text("header is damaged"));
}

TEST_CASE("a part says which best plans it keeps, and goes on with these alone", "[unit]") {
  const Folder folder("part_top");
  PartHeader header = test::header_of(kSmallGrid);
  header.top = 20;
  ChunkResult result = test::result_of(kSmallGrid, 0);
  const auto priced = std::ssize(result.priced);
  result.priced.resize(2);
  result.bounded = priced - 2;
  { SweepPart(folder / "a.part", header, Existing::kRefuse).keep(0, result); }
  const SweepPart read(folder / "a.part");
  CHECK(read.header().top == 20);
  CHECK(read.read(0).bounded == priced - 2);
  CHECK(read.read(0).priced.size() == 2);
  CHECK_THAT(config_error([&] {
               SweepPart(folder / "a.part", test::header_of(kSmallGrid), Existing::kContinue);
             }),
             contains_text("the part is for the 20 best plans, not for every plan"));
}

TEST_CASE("a missing part and a folder are errors of the user", "[unit]") {
  const Folder folder("part_missing");
  CHECK_THAT(config_error([&] { const SweepPart part(folder / "none.part"); }),
             contains_text("none.part: error: cannot open the part"));
  CHECK_THAT(config_error([&] { const SweepPart part(folder / "."); }),
             contains_text("this is something else"));
  CHECK_THAT(config_error([&] {
               SweepPart(folder / "none/a.part", test::header_of(kSmallGrid), Existing::kRefuse);
             }),
             contains_text("cannot write the part"));
}

TEST_CASE("two processes do not write one part", "[unit]") {
  const Folder folder("part_lock");
  auto first = std::make_unique<SweepPart>(folder / "a.part", test::header_of(kSmallGrid),
                                           Existing::kRefuse);
  const auto second = [&] {
    return config_error(
        [&] { SweepPart(folder / "a.part", test::header_of(kSmallGrid), Existing::kContinue); });
  };
  CHECK_THAT(second(), contains_text("another process writes this part"));
  first.reset();
  CHECK(second() == "no error");
}

// A chunk whose checksum is right but whose plans are not those of its number.
TEST_CASE("a chunk that does not account for its plans is not believed", "[unit]") {
  const Folder folder("part_account");
  const std::string header = encode_header(test::header_of(kSmallGrid));
  std::vector<ChunkResult> wrong(4, test::result_of(kSmallGrid, 3));
  wrong[0].priced.pop_back();
  wrong[1].priced.front().plan = 299;
  std::swap(wrong[2].priced[0], wrong[2].priced[1]);
  wrong[3].refused["does not fit in memory"] += 1;
  for (const ChunkResult& result : wrong) {
    put(folder / "a.part", header + encode_frame(3, result));
    const SweepPart part(folder / "a.part");
    REQUIRE(part.has(3));
    CHECK_THAT(config_error([&] { (void)part.read(3); }), contains_text("chunk 3 of the part"));
  }
  put(folder / "a.part", header + encode_frame(10, test::result_of(0, 0)));
  CHECK(SweepPart(folder / "a.part").table().cut > 0);  // there are chunks 0 to 9
}

// The limit of file sizes stands for a full disk: what does not fit fails, after a part of it did.
TEST_CASE("a chunk that the disk has no room for is taken back, and the part goes on later",
          "[unit]") {
  const Folder folder("part_full");
  make_part(folder / "whole.part", {0, 1, 2});
  struct rlimit before {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  {
    SweepPart part(folder / "a.part", test::header_of(kSmallGrid), Existing::kRefuse);
    part.keep(0, test::result_of(kSmallGrid, 0));
    const std::uint64_t end = part.table().end;
    const struct rlimit low { end + 5000, before.rlim_max };
    ::setrlimit(RLIMIT_FSIZE, &low);
    std::string what;
    try {
      part.keep(1, test::result_of(kSmallGrid, 1));
    } catch (const FileFault& fault) {
      what = fault.what();
    }
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    CHECK_THAT(what, contains_text("a.part: cannot write the part: File too large"));
    CHECK_FALSE(part.has(1));
    CHECK(std::filesystem::file_size(folder / "a.part") == end);
  }
  SweepPart part(folder / "a.part", test::header_of(kSmallGrid), Existing::kContinue);
  CHECK(part.table().cut == 0);
  part.keep(1, test::result_of(kSmallGrid, 1));
  part.keep(2, test::result_of(kSmallGrid, 2));
  CHECK(contents(folder / "a.part") == contents(folder / "whole.part"));
}

TEST_CASE("a part out of its folder is still written and read", "[unit]") {
  const Folder folder("part_unlinked");
  SweepPart part(folder / "a.part", test::header_of(kSmallGrid), Existing::kRefuse);
  part.unlink();
  CHECK_FALSE(std::filesystem::exists(folder / "a.part"));
  part.keep(2, test::result_of(kSmallGrid, 2));
  CHECK(test::bytes_of(part, 2) == test::bytes_of(kSmallGrid, 2));
}

}  // namespace
}  // namespace stepcast::sweep_part_test
