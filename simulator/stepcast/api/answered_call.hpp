// SPDX-License-Identifier: Apache-2.0
// Calls of the library's readers behind an interface: a problem of the input leaves as what the
// public header throws, whatever the readers below throw it as.
#pragma once

#include <utility>
#include <vector>

#include "stepcast/base/each_of.hpp"
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
    throw InputError(error.what(), each_of(error.diagnostics(), [](const Diagnostic& problem) {
                       const Location& where = problem.where;
                       return Problem{where.file, where.line, where.column, problem.message};
                     }));
  }
}

}  // namespace stepcast
