// SPDX-License-Identifier: Apache-2.0
// What whoever runs a sweep sees of it and does to it: how far it is, as a line on the terminal
// that standard error is, what it remarks, and Ctrl-C and a request to end, as a stop between two
// pieces of work. The second one ends the program at once.
#pragma once

#include <chrono>
#include <csignal>
#include <optional>
#include <stop_token>
#include <thread>

#include "cli/common_options.hpp"
#include "stepcast/stepcast.hpp"

namespace stepcast::cli {

// Nothing where standard error is a file or a pipe.
class ProgressBar {
 public:
  ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar();  // leaves the line with the rate

  void show(const PlansDone& progress);

 private:
  [[nodiscard]] double elapsed_s() const;

  using Clock = std::chrono::steady_clock;
  bool terminal_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point shown_;
  PlansDone last_;
};

// How far a sweep is and what it remarks, on standard error, as long as it lives.
class SweepConsole {
 public:
  SweepConsole() = default;  // says nothing of how far it is
  explicit SweepConsole(const GlobalOptions& global);
  [[nodiscard]] SweepRunning running(int threads, std::stop_token stop);
  void end_progress() { bar_.reset(); }

 private:
  std::optional<ProgressBar> bar_;
};

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
