// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/columns.hpp"

#include <cmath>

#include "stepcast/base/csv_cell.hpp"
#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/base/units_text.hpp"

namespace stepcast {

Value no_value() {
  Value none(Value::value_t::discarded);
  return none;
}

bool has_value(const Value& value) { return !value.is_discarded() && !value.is_null(); }

std::string as_text(const Value& value) {
  if (value.is_string()) {
    return value.get<std::string>();
  }
  if (value.is_boolean()) {
    return value.get<bool>() ? "true" : "false";
  }
  return value.is_number_float() ? shortest_text(value.get<double>())
                                 : std::to_string(value.get<std::int64_t>());
}

std::string csv_text(const Value& value) {
  if (!has_value(value)) {
    return "";
  }
  if (!value.is_array()) {
    return value.is_string() ? csv_cell(value.get<std::string>()) : as_text(value);
  }
  return csv_cell(text_list(value, "; ", as_text));
}

std::string as_count(const Value& value) { return with_separators(value.get<std::int64_t>()); }
std::string as_whole(const Value& value) { return whole_number(value.get<double>()); }
std::string as_time(const Value& value) { return readable(Seconds(value.get<double>())); }
std::string as_size(const Value& value) { return readable(Bytes(value.get<double>())); }
std::string as_yes_or_no(const Value& value) { return value.get<bool>() ? "yes" : "no"; }
std::string as_decimals(double value, int digits) { return decimals(value, digits); }
std::string as_megahertz(const Value& value) { return as_number<1>(value) + " MHz"; }

std::string as_milliseconds(const Value& value) {
  const double time = value.get<double>();
  const std::string digits = decimals(1e3 * std::abs(time), 2);
  return (time < 0.0 && digits != "0.00" ? "-" : "") + digits;
}

}  // namespace stepcast
