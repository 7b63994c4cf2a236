// SPDX-License-Identifier: Apache-2.0
// Tables of comma-separated values (RFC 4180), strictly: a header with distinct names, as many
// fields in every row, quoted fields with "" for a quote. Every field knows its place. What
// csv_cell wrote is read back as the same text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepcast/config/config_node.hpp"

namespace stepcast {

struct CsvField {
  std::string text;
  int column = 0;        // of its first character
  bool guarded = false;  // it was written with an apostrophe before it, which is gone
};

struct CsvRow {
  int line = 0;  // of its first field
  std::vector<CsvField> fields;
};

struct CsvTable {
  std::vector<std::string> names;
  std::vector<CsvRow> rows;
};

// Parses a table; rows with problems are left out, and all problems go to `diagnostics`.
CsvTable parse_csv(std::string_view text, const std::string& file, Diagnostics& diagnostics);

// The fields of the first line.
std::vector<std::string> csv_names(std::string_view text);

// A row as a mapping: numbers as numbers, the rest as text, empty fields left out.
ConfigNode mapping_of(const CsvRow& row, const std::vector<std::string>& names,
                      const std::string& file);

}  // namespace stepcast
