// SPDX-License-Identifier: Apache-2.0
// A file of constants as text, with what was fitted, to what and when.
#pragma once

#include <string>
#include <vector>

#include "stepcast/calibration/calibrate.hpp"

namespace stepcast {

struct CalibrationRecord {
  std::string date;                  // 2026-11-21
  std::string files;                 // names of the files of measurements
  std::vector<std::string> remarks;  // on what of them is taken on trust
};

// The file's text. Fitted numbers name `files` as their source.
std::string constants_to_yaml(const Calibration& calibration, const CalibrationRecord& record);

// The constants before and after, and the errors of each group, as a table.
std::string calibration_to_text(const Calibration& calibration, const CalibrationRecord& record);

// Why the constants are not to be used, of a calibration that is_worse().
std::string why_worse(const Calibration& calibration);

}  // namespace stepcast
