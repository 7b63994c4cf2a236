// SPDX-License-Identifier: Apache-2.0
// Files of measurements in any of the formats that stepcast knows.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "importers/measurement_formats.hpp"
#include "stepcast/validation/measurements.hpp"

namespace stepcast {

// The readers of every foreign format, for `stepcast validate` and all that takes measurements.
const Importers& all_importers();

struct MeasurementFile {
  std::string name;
  std::string text;
  const MeasurementFormat* format = nullptr;
};

// Reads a file and tells its format from its first line. Throws ConfigError for a file that cannot
// be read or is of no known format.
MeasurementFile read_measurements(const std::filesystem::path& file);

// The kernels of a file in its order, repeats merged. Throws ConfigError with every wrong row, and
// for files of another kind.
std::vector<MeasuredKernel> kernels_of(const MeasurementFile& file, ProfileCache& profiles);

// The runs of a table, row by row. Throws ConfigError with every wrong row.
std::vector<MeasuredRun> runs_of_table(ReadTableRun read, const MeasurementFile& file,
                                       ProfileCache& profiles);

// The runs of a file in its order. Throws ConfigError with every line that is wrong, and for files
// of another kind.
std::vector<MeasuredRun> runs_of(const MeasurementFile& file, ProfileCache& profiles);

bool is_blank_line(const std::string& line);

}  // namespace stepcast
