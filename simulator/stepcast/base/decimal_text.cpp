// SPDX-License-Identifier: Apache-2.0
#include "stepcast/base/decimal_text.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "stepcast/base/units_text.hpp"

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

std::string decimals(double value, int digits) {
  constexpr double kWithFraction = 1e12;  // beyond it no reader misses what follows the point
  if (!(std::abs(value) < kWithFraction)) {
    return whole_number(value);
  }
  constexpr std::array<long long, 4> kPowersOfTen = {1, 10, 100, 1000};
  const long long unit = kPowersOfTen.at(static_cast<std::size_t>(digits));
  const auto rounded = std::llround(value * static_cast<double>(unit));
  const auto scaled = std::abs(rounded);
  std::string fraction = std::to_string(scaled % unit);
  fraction.insert(0, static_cast<std::size_t>(digits) - fraction.size(), '0');
  return (rounded < 0 ? "-" : "") + with_separators(scaled / unit) + "." + fraction;
}

}  // namespace stepcast
