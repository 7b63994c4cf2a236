// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/sweep_run.hpp"

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

#include "catch.hpp"
#include "stepcast/sweep/sweep_merge.hpp"
#include "unit/sweep/sample_chunks.hpp"

namespace stepcast::piece_run_test {
namespace {

using test::Folder;
using test::kSmallGrid;
namespace fs = std::filesystem;

PieceRun run_of(int threads) {
  PieceRun run;
  run.threads = threads;
  run.evaluator = test::run_of(kSmallGrid).evaluator;
  return run;
}

PieceFolder open(const fs::path& folder, const ChunkGrid& grid = kSmallGrid) {
  return {folder, test::header_of(grid), this_task("first", ""), {}};
}

std::string contents(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

bool has_claims(const fs::path& folder) {
  bool any = false;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    any = any || name.find(".claim_") != std::string::npos ||
          name.find(".open_") != std::string::npos;
  }
  return any;
}

TEST_CASE("pieces are the whole, of the same bytes on any number of threads", "[unit]") {
  const Folder folder("piece_run");
  const ChunkGrid grid{30'001, 100};  // 301 chunks in 256 pieces
  std::string bytes;
  for (const int threads : {1, 5}) {
    const fs::path path = folder / std::to_string(threads);
    PieceFolder pieces = open(path, grid);
    CHECK(run_pieces(run_of(threads), pieces, {}) == 256);
    const PartFiles files = part_files({path});
    const MergedParts merged(files);
    std::string all;
    for (std::int64_t chunk = 0; chunk < grid.chunks(); ++chunk) {
      CHECK(test::bytes_of(merged, chunk) == test::bytes_of(grid, chunk));
    }
    for (const fs::path& file : files.files) {
      all += contents(file);
    }
    CHECK((bytes.empty() || bytes == all));
    bytes = all;
    CHECK(run_pieces(run_of(threads), pieces, {}) == 0);
  }
}

TEST_CASE("a stop gives back what is begun and keeps what is finished", "[unit]") {
  const Folder folder("piece_stop");
  std::stop_source stop;
  PieceRun run = run_of(1);
  run.evaluator = [&] {
    return [&stop, left = 4](std::int64_t begin, std::int64_t end) mutable {
      if (--left == 0) {
        stop.request_stop();
      }
      return test::result_of(begin, end);
    };
  };
  PieceFolder pieces = open(folder / "p");
  // The fourth piece has one chunk and is whole.
  CHECK(run_pieces(run, pieces, stop.get_token()) == 4);
  CHECK_FALSE(has_claims(folder / "p"));
  CHECK(run_pieces(run_of(3), pieces, {}) == 6);
}

TEST_CASE("a stop within a piece leaves nothing of it", "[unit]") {
  const Folder folder("piece_stop_within");
  const ChunkGrid grid{60'000, 100};  // 600 chunks in 256 pieces, 2 or 3 each
  std::stop_source stop;
  PieceRun run = run_of(1);
  run.evaluator = [&] {
    return [&stop](std::int64_t begin, std::int64_t end) {
      stop.request_stop();
      return test::result_of(begin, end);
    };
  };
  PieceFolder pieces = open(folder / "p", grid);
  CHECK(run_pieces(run, pieces, stop.get_token()) == 0);
  CHECK_FALSE(has_claims(folder / "p"));
  CHECK(run_pieces(run_of(2), pieces, {}) == 256);
}

TEST_CASE("what an evaluator throws ends all threads and gives their pieces back", "[unit]") {
  const Folder folder("piece_throw");
  PieceRun run = run_of(3);
  run.evaluator = [] {
    return [](std::int64_t begin, std::int64_t end) {
      if (begin == 500) {
        throw std::out_of_range("plan 500");
      }
      return test::result_of(begin, end);
    };
  };
  PieceFolder pieces = open(folder / "p");
  CHECK_THROWS_AS(run_pieces(run, pieces, {}), std::out_of_range);
  CHECK_FALSE(has_claims(folder / "p"));
  CHECK_FALSE(pieces.states().contains(shard_of(5, 10)));
  run_pieces(run_of(1), pieces, {});
  CHECK(MergedParts(part_files({folder / "p"})).has(5));
}

TEST_CASE("a run says how far all tasks are", "[unit]") {
  const Folder folder("piece_progress");
  PieceFolder pieces = open(folder / "p");
  std::stop_source stop;
  PieceRun half = run_of(1);
  half.progress = [&](const SweepProgress& progress) {
    if (progress.done >= 450) {
      stop.request_stop();
    }
  };
  CHECK(run_pieces(half, pieces, stop.get_token()) == 5);
  std::vector<SweepProgress> seen;
  PieceRun rest = run_of(1);
  rest.progress = [&seen](const SweepProgress& progress) { seen.push_back(progress); };
  CHECK(run_pieces(rest, pieces, {}) == 5);
  REQUIRE(seen.size() == 5);
  CHECK(seen.front().before == 450);
  CHECK(seen.front().done == 450);
  CHECK(seen.back().done == 810);
  CHECK(seen.back().plans == 901);
}

}  // namespace
}  // namespace stepcast::piece_run_test
