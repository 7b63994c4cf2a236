// SPDX-License-Identifier: Apache-2.0
#include "stepcast/base/worker_arena.hpp"

#include <atomic>

#include "catch.hpp"

namespace stepcast::worker_arena_test {

TEST_CASE("As many threads start as are wanted where nothing limits them, and at least one",
          "[unit]") {
  CHECK(threads_that_start(5) == 5);
  CHECK(threads_that_start(1) == 1);
  CHECK(threads_that_start(0) == 1);
  CHECK(threads_that_start(-3) == 1);
}

TEST_CASE("Work in an arena is done once, by the thread that calls where it is alone", "[unit]") {
  for (const int wanted : {1, 3}) {
    std::atomic<int> done = 0;
    WorkerArena arena(wanted);
    arena.run([&done] { ++done; });
    CHECK(done == 1);
    CHECK(arena.threads() == wanted);
  }
}

}  // namespace stepcast::worker_arena_test
