// SPDX-License-Identifier: Apache-2.0
// The formats of files of measurements, told apart by the names on their first line.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "stepcast/validation/measured_kernel.hpp"
#include "stepcast/validation/measured_run.hpp"

namespace stepcast {

enum class Syntax { kJsonLines, kCsv };

using ReadRun = MeasuredRun (*)(const nlohmann::json&, ProfileCache&);
// A run from a row whose every field is to be right.
using ReadTableRun = MeasuredRun (*)(KernelRow row);

struct MeasurementFormat {
  std::string_view name;
  Syntax syntax = Syntax::kJsonLines;
  std::array<std::string_view, 5> names;  // keys or columns that the first line must have
  std::variant<ReadRun, ReadKernels, ReadTableRun> read;
};

// The first one that fits counts.
std::span<const MeasurementFormat> measurement_formats();

// The format of a file whose first line has these keys or columns. Throws ConfigError if there is
// none.
const MeasurementFormat& format_of(Syntax syntax, const std::vector<std::string>& names,
                                   const std::string& file);

}  // namespace stepcast
