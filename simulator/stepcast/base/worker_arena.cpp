// SPDX-License-Identifier: Apache-2.0
#include "stepcast/base/worker_arena.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <latch>
#include <system_error>
#include <thread>
#include <vector>

namespace stepcast {

namespace {

int threads_in_address_space(int wanted) {
  constexpr rlim_t kOfThread = rlim_t{128} << 20U;
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return wanted;
  }
  return static_cast<int>(std::min<rlim_t>(static_cast<rlim_t>(std::max(1, wanted)),
                                           std::max<rlim_t>(1, limit.rlim_cur / kOfThread)));
}

}  // namespace

int threads_that_start(int wanted) {
  wanted = threads_in_address_space(wanted);
  std::latch end(1);
  std::vector<std::jthread> others;
  int started = 1;
  try {
    for (; started < wanted; ++started) {
      others.emplace_back([&end] { end.wait(); });
    }
  } catch (const std::system_error&) {
    started = std::max(1, started / 2);
  } catch (const std::bad_alloc&) {
    started = std::max(1, started / 2);
  }
  end.count_down();
  return started;
}

WorkerArena::WorkerArena(int wanted)
    : threads_(threads_that_start(wanted)),
      allow_(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads_)),
      arena_(threads_) {}

}  // namespace stepcast
