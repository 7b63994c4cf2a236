// SPDX-License-Identifier: Apache-2.0
// What a file of measurements holds, and the readers of foreign formats that the program passes in,
// as it passes in the backends: the library knows none of them by name.
#pragma once

#include <filesystem>
#include <variant>
#include <vector>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/cost/measured_operator.hpp"
#include "stepcast/validation/measured_kernel.hpp"
#include "stepcast/validation/measured_run.hpp"
#include "stepcast/validation/validation_row.hpp"

namespace stepcast {

// The rows of a file in its order: runs, or kernels with the repeats of a shape merged.
struct Measurements {
  std::string file;
  std::string format;  // "training runs"
  std::variant<std::vector<MeasuredRun>, std::vector<MeasuredKernel>> rows;
};

// The readers of files that other programs wrote.
struct Importers {
  // Tells the format from the file's first line. Throws ConfigError for a file that cannot be read,
  // is of no known format or has wrong rows.
  Measurements (*read)(const std::filesystem::path& file, ProfileCache& profiles) = nullptr;
  // Profiler traces are no rows but one step, compared by category with an experiment.
  bool (*is_trace)(const std::filesystem::path& file) = nullptr;
  std::vector<ValidationRow> (*trace_rows)(const std::filesystem::path& file,
                                           const std::optional<Experiment>& experiment,
                                           ProfileCache& profiles, const CostModel& cost) = nullptr;
};

// The rows of one kind. Throws ConfigError for a file that holds others.
std::vector<MeasuredRun> runs_of(Measurements measurements);
std::vector<MeasuredKernel> kernels_of(Measurements measurements);

// Those rows of kernels whose time is that of one operator alone, for a backend that prices by
// them. Throws ConfigError for a file that holds others.
MeasuredOperators operators_of(Measurements measurements, ProfileCache& profiles);

}  // namespace stepcast
