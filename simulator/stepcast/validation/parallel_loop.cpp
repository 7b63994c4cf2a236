// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/parallel_loop.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace stepcast {

void for_each_index(std::size_t count, const std::function<void(std::size_t)>& call) {
  constexpr std::size_t kFewest = 16;  // calls that are worth a thread
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> faults(count);
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        call(i);
      } catch (...) {
        faults[i] = std::current_exception();
      }
    }
  };
  const std::size_t processors = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t threads = std::clamp<std::size_t>(count / kFewest, 1, processors);
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < threads; ++i) {
      others.emplace_back(work);
    }
    work();
  }
  for (const std::exception_ptr& fault : faults) {
    if (fault) {
      std::rethrow_exception(fault);
    }
  }
}

}  // namespace stepcast
