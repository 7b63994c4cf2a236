// SPDX-License-Identifier: Apache-2.0
#include "fuzz/targets.hpp"
#include "stepcast/validation/canonical_record.hpp"

namespace stepcast::fuzz {
namespace {

void check_row(const MeasuredRow& row) {
  std::visit(
      [](const auto& measured) {
        for (const MeasuredQuantity& quantity : measured.quantities) {
          promise(quantity.value >= 0.0 && quantity.value <= 1e18, "a measurement has no range");
          promise(!key_of(quantity.metric).empty(), "a measurement has no metric");
        }
        promise(!measured.group.empty(), "a row has no group");
      },
      row);
}

}  // namespace

int fuzz_record(const std::uint8_t* data, std::size_t size) {
  static ProfileCache profiles(DataRoot{STEPCAST_DATA_ROOT});
  Diagnostics diagnostics;
  for (const ConfigNode& record :
       parse_records(std::string(text_of(data, size)), "fuzz", diagnostics)) {
    if (!is_canonical(record)) {
      continue;
    }
    try {
      check_row(read_record(record, profiles));
    } catch (const ConfigError& error) {
      promise(!error.diagnostics().empty(), "an error says nothing");
    }
  }
  for (const Diagnostic& problem : diagnostics.entries()) {
    promise(problem.where.line > 0 && problem.where.column > 0, "an error has no place");
  }
  return 0;
}

}  // namespace stepcast::fuzz
