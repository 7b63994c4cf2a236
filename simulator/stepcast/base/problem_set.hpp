// SPDX-License-Identifier: Apache-2.0
// Problems of several inputs at once, where the same value is read as part of many of them.
#pragma once

#include <set>
#include <string>
#include <tuple>

#include "stepcast/base/error.hpp"

namespace stepcast {

class ProblemSet {
 public:
  void add(const Diagnostic& problem) {
    if (known_
            .insert({problem.where.file, problem.where.line, problem.where.column, problem.message})
            .second) {
      diagnostics_.error(problem.where, problem.message);
    }
  }
  void add(const Diagnostics& problems) {
    for (const Diagnostic& problem : problems.entries()) {
      add(problem);
    }
  }
  // Runs `load` and keeps the problems that it throws; whether there were none.
  template <typename Load>
  bool collect(const Load& load) {
    try {
      load();
      return true;
    } catch (const ConfigError& error) {
      for (const Diagnostic& problem : error.diagnostics()) {
        add(problem);
      }
      return false;
    }
  }
  [[nodiscard]] bool empty() const { return diagnostics_.empty(); }
  void throw_if_any() const { diagnostics_.throw_if_any(); }

 private:
  std::set<std::tuple<std::string, int, int, std::string>> known_;
  Diagnostics diagnostics_;
};

}  // namespace stepcast
