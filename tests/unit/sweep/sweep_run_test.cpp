// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/sweep_run.hpp"

#include <atomic>
#include <set>
#include <thread>

#include "catch.hpp"
#include "stepcast/sweep/sweep_part.hpp"
#include "unit/sweep/sample_chunks.hpp"

namespace stepcast::sweep_run_test {
namespace {

using test::Folder;
using test::kSmallGrid;
using Existing = SweepPart::Existing;

void check_whole(const ChunkReader& chunks) {
  for (std::int64_t chunk = 0; chunk < kSmallGrid.chunks(); ++chunk) {
    CAPTURE(chunk);
    REQUIRE(chunks.has(chunk));
    CHECK(test::bytes_of(chunks, chunk) == test::bytes_of(kSmallGrid, chunk));
  }
}

TEST_CASE("any number of threads keeps the same chunks", "[unit]") {
  for (const int threads : {1, 2, 3, 16}) {
    CAPTURE(threads);
    ChunksInMemory chunks;
    CHECK(run_sweep(test::run_of(kSmallGrid, {}, threads), chunks, {}));
    check_whole(chunks);
  }
}

TEST_CASE("each thread has an evaluator of its own", "[unit]") {
  SweepRun run = test::run_of(kSmallGrid, {}, 4);
  std::atomic<int> made{0};
  std::atomic<int> shared{0};
  run.evaluator = [&] {
    ++made;
    return [&, owner = std::this_thread::get_id()](std::int64_t begin, std::int64_t end) {
      shared += std::this_thread::get_id() == owner ? 0 : 1;
      return test::result_of(begin, end);
    };
  };
  ChunksInMemory chunks;
  CHECK(run_sweep(run, chunks, {}));
  CHECK(made >= 1);
  CHECK(made <= 4);
  CHECK(shared == 0);
}

TEST_CASE("progress rises to the plans of the shard", "[unit]") {
  SweepRun run = test::run_of(kSmallGrid, {}, 3);
  std::vector<SweepProgress> seen;
  run.progress = [&seen](const SweepProgress& progress) { seen.push_back(progress); };
  ChunksInMemory chunks;
  CHECK(run_sweep(run, chunks, {}));
  REQUIRE(seen.size() == 10);
  for (std::size_t i = 1; i < seen.size(); ++i) {
    CHECK(seen[i].done > seen[i - 1].done);
  }
  CHECK(seen.back().plans == 901);
  CHECK(seen.back().done == 901);
  CHECK(seen.back().before == 0);
  CHECK(seen.back().priced == 600);  // 900 / 3 * 2, and plan 900 is refused
}

TEST_CASE("a stop ends the run between chunks, and the next run does only what is missing",
          "[unit]") {
  const Folder folder("run_stop");
  std::stop_source stop;
  SweepRun run = test::run_of(kSmallGrid);
  run.progress = [&stop](const SweepProgress& progress) {
    if (progress.done >= 300) {
      stop.request_stop();
    }
  };
  {
    SweepPart part(folder / "a.part", test::header_of(kSmallGrid), Existing::kRefuse);
    CHECK_FALSE(run_sweep(run, part, stop.get_token()));
    CHECK(part.table().chunks() == 3);
  }
  SweepPart part(folder / "a.part", test::header_of(kSmallGrid), Existing::kContinue);
  std::vector<SweepProgress> seen;
  run.progress = [&seen](const SweepProgress& progress) { seen.push_back(progress); };
  CHECK(run_sweep(run, part, {}));
  CHECK(seen.size() == 7);
  CHECK(seen.back().before == 300);
  CHECK(seen.back().done == 901);
  check_whole(part);
  seen.clear();
  CHECK(run_sweep(run, part, {}));
  CHECK(seen.empty());
}

TEST_CASE("what a thread throws arrives at the caller, and what was kept stays", "[unit]") {
  SweepRun run = test::run_of(kSmallGrid, {}, 2);
  run.evaluator = [] {
    return [](std::int64_t begin, std::int64_t end) {
      if (begin == 500) {
        throw std::out_of_range("plan 500");
      }
      return test::result_of(begin, end);
    };
  };
  ChunksInMemory chunks;
  CHECK_THROWS_AS(run_sweep(run, chunks, {}), std::out_of_range);
  CHECK_FALSE(chunks.has(5));
  CHECK(run_sweep(test::run_of(kSmallGrid), chunks, {}));
  check_whole(chunks);
}

TEST_CASE("an evaluator that loses a plan is a fault", "[unit]") {
  SweepRun run = test::run_of(kSmallGrid);
  run.evaluator = [] {
    return [](std::int64_t begin, std::int64_t end) { return test::result_of(begin, end - 1); };
  };
  ChunksInMemory chunks;
  CHECK_THROWS_AS(run_sweep(run, chunks, {}), InternalError);
}

TEST_CASE("a shard runs its own chunks", "[unit]") {
  ChunksInMemory chunks;
  CHECK(run_sweep(test::run_of(kSmallGrid, {2, 3}), chunks, {}));
  for (std::int64_t chunk = 0; chunk < kSmallGrid.chunks(); ++chunk) {
    CHECK(chunks.has(chunk) == (shard_of(chunk, 3) == 2));
  }
}

TEST_CASE("a sweep of no plans ends at once", "[unit]") {
  ChunksInMemory chunks;
  CHECK(run_sweep(test::run_of({0, 100}), chunks, {}));
}

}  // namespace
}  // namespace stepcast::sweep_run_test
