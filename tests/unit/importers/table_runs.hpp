// SPDX-License-Identifier: Apache-2.0
// Foreign rows, read from their text to what is compared.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "importers/measurement_files.hpp"
#include "sample_specs.hpp"

namespace stepcast::test {

// The runs of a table or of JSON lines.
inline std::vector<MeasuredRun> runs_in(const std::string& text) {
  ProfileCache profiles(data_root());
  std::vector<MeasuredRun> runs;
  for (const RecordLine& line : import_records(text, "runs.csv", profiles)) {
    runs.push_back(std::get<MeasuredRun>(read_imported(line, profiles)));
  }
  return runs;
}

inline MeasuredRun run_of(const nlohmann::json& row) { return runs_in(row.dump()).front(); }

// The problems of a table; empty if it has none.
inline std::vector<Diagnostic> problems_in(const std::string& text) {
  try {
    runs_in(text);
  } catch (const ConfigError& error) {
    return error.diagnostics();
  }
  return {};
}

}  // namespace stepcast::test
