// SPDX-License-Identifier: Apache-2.0
// The three classes of error.
//
//   the user's input is wrong   ConfigError: every problem of the input at once, each with file,
//   line,
//                               column and a remedy; caught in main only, exit 2
//   the plan cannot run         a value (settle/settle_plan.hpp), exit 3
//   our own fault               STEPCAST_CHECK throws InternalError, exit 1
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace stepcast {

// A place in an input. Lines and columns count from 1; a line of 0 means the input as a whole, a
// column of 0 the line as a whole.
struct Location {
  std::string file;
  int line = 0;
  int column = 0;
};

struct Diagnostic {
  Location where;
  std::string message;  // lower case, no full stop: the value, the rule, a remedy
};

// "file:line:column: error: message"
std::string to_text(const Diagnostic& diagnostic);

// So many problems are told at once; of more there is only the number.
inline constexpr std::size_t kMostTold = 20;

// Collects the problems of one or several inputs, so that all are reported at once. Of an input
// that is wrong all over the first thousand are kept, and the others are counted.
class Diagnostics {
 public:
  void error(Location where, std::string message) {
    if (full()) {
      count_only();
    } else {
      entries_.push_back({std::move(where), std::move(message)});
    }
  }
  // Whether what comes is counted only, so that nobody need find its remedy.
  [[nodiscard]] bool full() const { return entries_.size() >= kMostKept; }
  void count_only() { ++uncollected_; }
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] const std::vector<Diagnostic>& entries() const { return entries_; }
  // Throws ConfigError with everything collected, in order of file and line; does nothing if empty.
  void throw_if_any() const;

 private:
  static constexpr std::size_t kMostKept = 1000;
  std::vector<Diagnostic> entries_;
  std::size_t uncollected_ = 0;
};

// The user's input is wrong. what() has one line for each of the first kMostTold problems, and how
// many more there are: of `diagnostics`, and `uncollected` beside them.
class ConfigError : public std::exception {
 public:
  explicit ConfigError(std::vector<Diagnostic> diagnostics, std::size_t uncollected = 0);
  ConfigError(Location where, std::string message);
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }
  [[nodiscard]] const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  [[nodiscard]] std::size_t uncollected() const { return uncollected_; }

 private:
  std::vector<Diagnostic> diagnostics_;
  std::size_t uncollected_;
  std::string text_;
};

// A fault of the program itself.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void fail_check(const char* condition, const std::string& detail, const char* file,
                             int line);

}  // namespace stepcast

// Always on, without side effects; throws InternalError.
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define STEPCAST_CHECK(condition, detail)                               \
  do {                                                                  \
    if (!(condition)) {                                                 \
      ::stepcast::fail_check(#condition, (detail), __FILE__, __LINE__); \
    }                                                                   \
  } while (false)
