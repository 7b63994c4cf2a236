// SPDX-License-Identifier: Apache-2.0
#include "cli/progress_bar.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

#include "stepcast/base/decimal_text.hpp"

namespace stepcast::cli {
namespace {

constexpr std::string_view kClearLine = "\r\x1b[K";

// 12,345
std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

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

std::string with_decimal(double number) { return fixed_decimal(number, 1); }

double rate(const PlansDone& progress, double elapsed_s) {
  constexpr double kShortest = 1e-3;
  return static_cast<double>(progress.done - progress.before) / std::max(elapsed_s, kShortest);
}

}  // namespace

std::string progress_text(const PlansDone& progress, double elapsed_s) {
  constexpr std::size_t kWidth = 20;
  const double share =
      progress.plans > 0 ? static_cast<double>(progress.done) / static_cast<double>(progress.plans)
                         : 1.0;
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(kWidth));
  const double plans_a_second = rate(progress, elapsed_s);
  const auto left = static_cast<double>(progress.plans - progress.done);
  std::string text = "[" + std::string(filled, '#') + std::string(kWidth - filled, '-') + "] " +
                     with_decimal(100.0 * share) + " %  " + grouped(progress.done) + " of " +
                     grouped(progress.plans) + " plans  " +
                     grouped(static_cast<std::int64_t>(plans_a_second)) + " plans/s";
  if (plans_a_second > 0.0) {
    text += "  " + duration(left / plans_a_second) + " left";
  }
  return text;
}

std::string rate_text(const PlansDone& progress, double elapsed_s) {
  return grouped(progress.done - progress.before) + " plans in " + with_decimal(elapsed_s) +
         " s, " + grouped(static_cast<std::int64_t>(rate(progress, elapsed_s))) + " plans/s, " +
         grouped(progress.priced) + " of them priced";
}

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

}  // namespace stepcast::cli
