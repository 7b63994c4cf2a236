// SPDX-License-Identifier: Apache-2.0
// Predicts every row of files of measurements.
//
// The importers that the caller passes tell the format of a file (measurements.hpp): runs and steps
// are projected, kernels and collectives priced by themselves. A run that happened is timed
// even where the memory model calls it unfit.
#pragma once

#include <filesystem>
#include <vector>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/validation/error_summary.hpp"
#include "stepcast/validation/measurements.hpp"

namespace stepcast {

// Profiler traces are compared with `of_traces`, or with the step that their name names. Rows in
// the order of the files. Throws ConfigError for a file that cannot be read, is of no known format
// or holds a line that is no JSON object.
std::vector<ValidationRow> validate_files(const std::vector<std::filesystem::path>& files,
                                          const DataRoot& data, const CostModel& cost,
                                          const Importers& importers,
                                          const std::optional<Experiment>& of_traces = {});

// What errors are shown beside: nothing, or those of one rate for every run of a group, fitted on
// its own rows.
enum class ErrorBaseline { kNone, kConstantRate };

// The summary as a table, which runs fit, how many lie inside the intervals that are stated of
// them, and what was skipped for which reason.
std::string validation_to_text(const std::vector<ValidationRow>& rows,
                               ErrorBaseline baseline = ErrorBaseline::kNone);
// One row a line, with its prediction and error.
std::string validation_to_csv(const std::vector<ValidationRow>& rows);
// The errors of held-out runs with what they may hang on, as hardware_profiles/accuracy.json
// (experiment/accuracy.hpp).
std::string validation_to_accuracy(const std::vector<ValidationRow>& rows);
// rows[], summary[] and coverage[] of the interface.
std::string validation_to_json(const std::vector<ValidationRow>& rows,
                               const std::string& program_version);

}  // namespace stepcast
