// SPDX-License-Identifier: Apache-2.0
// Calls of the library's readers behind an interface: a problem of the input leaves as what the
// public header throws, whatever the readers below throw it as.
#pragma once

#include <utility>
#include <vector>

#include "stepcast/base/error.hpp"
#include "stepcast/stepcast.hpp"

namespace stepcast {

// What `call` returns. A ConfigError of it becomes an InputError with the same problems, each with
// its file, line and column.
template <typename Call>
auto answer_of(const Call& call) {
  try {
    return call();
  } catch (const ConfigError& error) {
    std::vector<Problem> problems;
    problems.reserve(error.diagnostics().size());
    for (const Diagnostic& problem : error.diagnostics()) {
      problems.push_back(
          {problem.where.file, problem.where.line, problem.where.column, problem.message});
    }
    throw InputError(error.what(), std::move(problems));
  }
}

}  // namespace stepcast
