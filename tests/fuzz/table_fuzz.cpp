// SPDX-License-Identifier: Apache-2.0
#include "fuzz/targets.hpp"
#include "importers/csv_rows.hpp"

namespace stepcast::fuzz {

int fuzz_table(const std::uint8_t* data, std::size_t size) {
  Diagnostics diagnostics;
  const CsvTable table = parse_csv(text_of(data, size), "fuzz", diagnostics);
  promise(!table.names.empty(), "a table has no names");
  int last = 1;
  for (const CsvRow& row : table.rows) {
    promise(row.fields.size() == table.names.size(), "a row has other fields than the header");
    promise(row.line > last, "rows are not in order");
    last = row.line;
    promise(mapping_of(row, table.names, "fuzz").entries.size() <= table.names.size(),
            "a mapping has other keys");
  }
  for (const Diagnostic& problem : diagnostics.entries()) {
    promise(problem.where.line > 0 && problem.where.column > 0, "an error has no place");
  }
  return 0;
}

}  // namespace stepcast::fuzz
