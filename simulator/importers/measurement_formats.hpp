// SPDX-License-Identifier: Apache-2.0
// The formats of files of measurements, told apart by the names on their first line.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "importers/kernel_formats.hpp"

namespace stepcast {

enum class Syntax { kJsonLines, kCsv };

// Adds the records of a nested row, whose fields may be absent or null.
using ReadStatedRow = void (*)(const nlohmann::json& row, ProfileCache& profiles,
                               std::vector<Record>& records);

enum class Repeats { kApart, kMerged };  // merged: rows of one operator are judged on their median

struct MeasurementFormat {
  std::string_view name;
  Syntax syntax = Syntax::kJsonLines;
  std::array<std::string_view, 5> names;  // keys or columns that the first line must have
  std::string_view example;               // a row, of a CSV below its header
  std::variant<ReadStatedRow, ReadForeignRow, const KernelTable*> read;
  Repeats repeats = Repeats::kApart;
};

// The first one that fits counts.
std::span<const MeasurementFormat> measurement_formats();

// The format of a file whose first line has these keys or columns. Throws ConfigError if there is
// none.
const MeasurementFormat& format_of(Syntax syntax, const std::vector<std::string>& names,
                                   const std::string& file);

}  // namespace stepcast
