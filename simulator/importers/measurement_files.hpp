// SPDX-License-Identifier: Apache-2.0
// Files of measurements in any of the foreign formats that stepcast knows, as canonical records.
#pragma once

#include <string>
#include <vector>

#include "stepcast/validation/measurements.hpp"

namespace stepcast {

// The readers of every foreign format, for `stepcast validate` and all that takes measurements.
const Importers& all_importers();

// The rows of a text as records, in its order. Throws ConfigError for a text of no known format and
// with every row that is wrong.
std::vector<RecordLine> import_records(const std::string& text, const std::string& file,
                                       ProfileCache& profiles);

// Records as JSON lines.
std::string to_json_lines(const std::vector<RecordLine>& records);

// A profiler's trace of a step beside what the simulator says about it: one row a category. Which
// step a trace is of follows from its file name, which is the `case` of a line in steps.jsonl
// beside it or one folder up, or from an experiment that the caller gives. One row that is skipped
// with its reason: a trace of another GPU, or a database that marks no step. Throws ConfigError for
// a trace that cannot be read or whose step is not known.
std::vector<ValidationRow> trace_rows(const std::filesystem::path& file,
                                      const std::optional<Experiment>& experiment,
                                      ProfileCache& profiles, const CostModel& cost);

}  // namespace stepcast
