// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep_console.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <ctime>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/units_text.hpp"

namespace stepcast::cli {
namespace {

constexpr std::string_view kClearLine = "\r\x1b[K";

// 1:02:03
std::string duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds);
  std::array<char, 32> text{};
  if (whole >= 3600) {
    std::snprintf(text.data(), text.size(), "%d:%02d:%02d", static_cast<int>(whole / 3600),
                  static_cast<int>(whole / 60 % 60), static_cast<int>(whole % 60));
  } else {
    std::snprintf(text.data(), text.size(), "%d:%02d", static_cast<int>(whole / 60),
                  static_cast<int>(whole % 60));
  }
  return text.data();
}

double rate(const PlansDone& progress, double elapsed_s) {
  constexpr double kShortest = 1e-3;
  return static_cast<double>(progress.done - progress.before) / std::max(elapsed_s, kShortest);
}

// "[#########-----------]  45.0 %  45,000 of 100,000 plans  9,000 plans/s  0:06 left"
std::string progress_text(const PlansDone& progress, double elapsed_s) {
  constexpr std::size_t kWidth = 20;
  const double share =
      progress.plans > 0 ? static_cast<double>(progress.done) / static_cast<double>(progress.plans)
                         : 1.0;
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(kWidth));
  const double plans_a_second = rate(progress, elapsed_s);
  const auto left = static_cast<double>(progress.plans - progress.done);
  std::string text = "[" + std::string(filled, '#') + std::string(kWidth - filled, '-') + "] " +
                     fixed_decimal(100.0 * share, 1) + " %  " + with_separators(progress.done) +
                     " of " + with_separators(progress.plans) + " plans  " +
                     with_separators(static_cast<std::int64_t>(plans_a_second)) + " plans/s";
  if (plans_a_second > 0.0) {
    text += "  " + duration(left / plans_a_second) + " left";
  }
  return text;
}

// "45,000 plans in 5.0 s, 9,000 plans/s, 40,000 of them priced"
std::string rate_text(const PlansDone& progress, double elapsed_s) {
  return with_separators(progress.done - progress.before) + " plans in " +
         fixed_decimal(elapsed_s, 1) + " s, " +
         with_separators(static_cast<std::int64_t>(rate(progress, elapsed_s))) + " plans/s, " +
         with_separators(progress.priced) + " of them priced";
}

}  // namespace

ProgressBar::ProgressBar() : terminal_(::isatty(STDERR_FILENO) != 0) {}

ProgressBar::~ProgressBar() {
  if (terminal_ && last_.plans > 0) {
    std::fprintf(stderr, "%s%s\n", kClearLine.data(), rate_text(last_, elapsed_s()).c_str());
  }
}

double ProgressBar::elapsed_s() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

void ProgressBar::show(const PlansDone& progress) {
  constexpr std::chrono::milliseconds kBetween{100};
  last_ = progress;
  if (!terminal_ || Clock::now() - shown_ < kBetween) {
    return;
  }
  shown_ = Clock::now();
  std::fprintf(stderr, "%s%s", kClearLine.data(), progress_text(progress, elapsed_s()).c_str());
  std::fflush(stderr);
}

SweepConsole::SweepConsole(const GlobalOptions& global) {
  if (!global.quiet) {
    bar_.emplace();
  }
}

SweepRunning SweepConsole::running(int threads, std::stop_token stop) {
  return {threads, std::move(stop),
          [this](const PlansDone& progress) {
            if (bar_) {
              bar_->show(progress);
            }
          },
          [](const std::string& remark) { std::fprintf(stderr, "%s\n", remark.c_str()); }};
}

Interrupt::Interrupt() {
  sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) {
      sigaddset(&signals_, signal);
    }
  }
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  waiting_ = std::jthread([this](const std::stop_token& ended) { wait(ended); });
}

Interrupt::~Interrupt() {
  waiting_.request_stop();
  waiting_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void Interrupt::wait(const std::stop_token& ended) const {
  constexpr timespec kLook{0, 50'000'000};  // 50 ms between looks at whether the work has ended
  while (!ended.stop_requested()) {
    if (sigtimedwait(&signals_, nullptr, &kLook) > 0) {
      stop_.request_stop();
      pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
    }
  }
}

}  // namespace stepcast::cli
