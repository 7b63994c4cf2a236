// SPDX-License-Identifier: Apache-2.0
// How far a sweep is, as a line on the terminal that standard error is; nothing where it is a file
// or a pipe.
#pragma once

#include <chrono>
#include <string>

#include "stepcast/stepcast.hpp"

namespace stepcast::cli {

// "[#########-----------]  45.0 %  45,000 of 100,000 plans  9,000 plans/s  0:06 left"
std::string progress_text(const PlansDone& progress, double elapsed_s);
// "45,000 plans in 5.0 s, 9,000 plans/s"
std::string rate_text(const PlansDone& progress, double elapsed_s);

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

}  // namespace stepcast::cli
