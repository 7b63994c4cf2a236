// SPDX-License-Identifier: Apache-2.0
// What a command is at, as a line on the terminal that standard error is, from its second second
// on. Nothing where that is a file or a pipe, or with --quiet.
#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "cli/common_options.hpp"

namespace stepcast::cli {

class WaitingLine {
 public:
  explicit WaitingLine(const GlobalOptions& global);
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;
  ~WaitingLine();  // takes the line away

  // From any thread.
  void says(const std::string& what);

 private:
  void show(const std::stop_token& ended);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::string what_;
  bool shown_ = false;
  std::jthread showing_;  // the last, so that it ends before what it reads
};

}  // namespace stepcast::cli
