// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and a request to end, as a stop between two pieces of work. The second one ends the
// program at once.
#pragma once

#include <csignal>
#include <stop_token>
#include <thread>

namespace stepcast::cli {

// While it lives, SIGINT and SIGTERM ask for the stop; signals that the program was started to
// ignore stay ignored. To be made before other threads, which then leave these signals alone.
class Interrupt {
 public:
  Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt();

  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }

 private:
  void wait(const std::stop_token& ended) const;

  sigset_t signals_{};
  sigset_t before_{};
  std::stop_source stop_;
  std::jthread waiting_;
};

}  // namespace stepcast::cli
