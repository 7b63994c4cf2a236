// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/trace_cells.hpp"

#include <cmath>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/report/text_layout.hpp"

namespace stepcast {

std::string counted(double value) { return whole_number(value); }

std::string in_milliseconds(Seconds time) {
  const std::string digits = decimals(1e3 * std::abs(time.value()), 2);
  return (time < Seconds{} && digits != "0.00" ? "-" : "") + digits;
}

std::string cut_to(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 2) + "..";
}

std::string title_line(std::string_view title) { return "  " + std::string(title) + "\n"; }

}  // namespace stepcast
