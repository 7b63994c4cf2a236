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

}  // namespace stepcast
