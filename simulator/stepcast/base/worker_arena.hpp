// SPDX-License-Identifier: Apache-2.0
// The threads that share a loop's work.
//
// TBB ends the program where one of its threads does not start, as under a limit of the address
// space or of a user's threads. So a limited address space has a thread for each 128 MiB, since the
// heap of each reserves 64 MiB and its stack 4 to 8, and as many as are wanted are started once for
// a moment; where some do not start, half of those that did are used.
#pragma once

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

namespace stepcast {

inline constexpr int kMostThreads = 4096;  // that anyone may ask for

class WorkerArena {
 public:
  // `wanted` may be more than there are processors; the thread that calls is one of them.
  explicit WorkerArena(int wanted);

  [[nodiscard]] int threads() const { return threads_; }
  template <typename Work>
  void run(const Work& work) {
    arena_.execute(work);
  }

 private:
  int threads_;
  tbb::global_control allow_;
  tbb::task_arena arena_;
};

// Of `wanted`, at least 1.
int threads_that_start(int wanted);

}  // namespace stepcast
