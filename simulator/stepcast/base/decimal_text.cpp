// SPDX-License-Identifier: Apache-2.0
#include "stepcast/base/decimal_text.hpp"

#include <array>
#include <charconv>

namespace stepcast {

double leading_decimal(std::string_view text) {
  double value = 0.0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string fixed_decimal(double value, int digits) {
  std::array<char, 400> text{};  // the largest double has 309 digits before the point
  const std::to_chars_result written = std::to_chars(text.data(), text.data() + text.size(), value,
                                                     std::chars_format::fixed, digits);
  return {text.data(), written.ptr};
}

}  // namespace stepcast
