// SPDX-License-Identifier: Apache-2.0
#include "cli/waiting_line.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace stepcast::cli {

WaitingLine::WaitingLine(const GlobalOptions& global) {
  if (!global.quiet && ::isatty(STDERR_FILENO) != 0) {
    showing_ = std::jthread([this](const std::stop_token& ended) { show(ended); });
  }
}

WaitingLine::~WaitingLine() {
  if (showing_.joinable()) {
    showing_.request_stop();
    showing_.join();
  }
  if (shown_) {
    std::fprintf(stderr, "\r\x1b[K");
    std::fflush(stderr);
  }
}

void WaitingLine::says(const std::string& what) {
  const std::lock_guard lock(mutex_);
  what_ = what;
}

void WaitingLine::show(const std::stop_token& ended) {
  constexpr std::chrono::seconds kEach{1};
  std::unique_lock lock(mutex_);
  for (int seconds = 1;; ++seconds) {
    changed_.wait_for(lock, ended, kEach, [] { return false; });
    if (ended.stop_requested()) {
      return;
    }
    shown_ = true;
    std::fprintf(stderr, "\r\x1b[Kat work for %d s%s%s", seconds, what_.empty() ? "" : ": ",
                 what_.c_str());
    std::fflush(stderr);
  }
}

}  // namespace stepcast::cli
