// SPDX-License-Identifier: Apache-2.0
// Tables of runs, read from their text.
#pragma once

#include <string>
#include <vector>

#include "importers/measurement_files.hpp"
#include "sample_specs.hpp"

namespace stepcast::test {

inline std::vector<MeasuredRun> runs_in(ReadTableRun read, const std::string& text) {
  ProfileCache profiles(data_root());
  return runs_of_table(read, {"runs.csv", text}, profiles);
}

// The problems of a table; empty if it has none.
inline std::vector<Diagnostic> problems_in(ReadTableRun read, const std::string& text) {
  try {
    runs_in(read, text);
  } catch (const ConfigError& error) {
    return error.diagnostics();
  }
  return {};
}

}  // namespace stepcast::test
