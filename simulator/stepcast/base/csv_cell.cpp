// SPDX-License-Identifier: Apache-2.0
#include "stepcast/base/csv_cell.hpp"

#include <cmath>

#include "stepcast/base/decimal_text.hpp"

namespace stepcast {
namespace {

// Behind any apostrophes: one before a guarded text is a second guard, so that each is read back as
// what it was.
bool begins_as_formula(std::string_view text) {
  const std::size_t first = text.find_first_not_of('\'');
  return first != std::string_view::npos &&
         std::string_view("=+-@\t\r\n").find(text[first]) != std::string_view::npos;
}

bool is_number(std::string_view text) {
  const std::optional<double> number = parse_number<double>(text);
  return number && std::isfinite(*number);
}

}  // namespace

std::string csv_cell(std::string_view text) {
  const std::string_view guard = begins_as_formula(text) && !is_number(text) ? "'" : "";
  if (guard.empty() && text.find_first_of(",\"\n\r") == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "\"" + std::string(guard);
  for (const char c : text) {
    quoted += c;
    if (c == '"') {
      quoted += c;
    }
  }
  return quoted + "\"";
}

bool is_guarded(std::string_view cell) { return cell.starts_with('\'') && begins_as_formula(cell); }

}  // namespace stepcast
