// SPDX-License-Identifier: Apache-2.0
// A file of constants as text, with what was fitted, to what and when.
#pragma once

#include <string>

#include "stepcast/calibration/calibrate.hpp"

namespace stepcast {

struct CalibrationRecord {
  std::string date;   // 2026-11-21
  std::string files;  // names of the files of measurements
};

// The file's text. Fitted numbers name `files` as their source.
std::string constants_to_yaml(const Calibration& calibration, const CalibrationRecord& record);

// The constants before and after, and the errors of each group, as a table.
std::string calibration_to_text(const Calibration& calibration);

}  // namespace stepcast
