// SPDX-License-Identifier: Apache-2.0
#include "stepcast/base/decimal_text.hpp"

#include <array>
#include <cmath>

#include "stepcast/base/units_text.hpp"

namespace stepcast {
namespace {

struct CountSuffix {
  std::string_view text;
  double factor;
};
constexpr std::array kCountSuffixes = {CountSuffix{"", 1.0}, CountSuffix{"k", 1e3},
                                       CountSuffix{"M", 1e6}, CountSuffix{"B", 1e9},
                                       CountSuffix{"T", 1e12}};

// Whole numbers up to here are written and read back without loss where they have a suffix.
constexpr double kLargestCount = 1e18;

// Plain digits, which a double would round above 2^53.
std::optional<std::int64_t> plain_count(std::string_view text) {
  const std::optional<std::int64_t> value = parse_number<std::int64_t>(text);
  const bool in_range = value && *value >= 0 && *value <= static_cast<std::int64_t>(kLargestCount);
  return in_range ? value : std::nullopt;
}

}  // namespace

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

double rounded_to(double value, int digits) {
  constexpr std::size_t kLongest = 32;
  std::array<char, kLongest> text{};
  const std::to_chars_result written = std::to_chars(text.data(), text.data() + text.size(), value,
                                                     std::chars_format::scientific, digits - 1);
  double rounded = value;
  std::from_chars(text.data(), written.ptr, rounded);
  return rounded;
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
  std::string whole = (rounded < 0 ? "-" : "") + with_separators(scaled / unit);
  if (digits == 0) {
    return whole;
  }
  std::string fraction = std::to_string(scaled % unit);
  fraction.insert(0, static_cast<std::size_t>(digits) - fraction.size(), '0');
  return whole + "." + fraction;
}

std::optional<std::int64_t> parse_count(std::string_view text) {
  if (const std::optional<std::int64_t> plain = plain_count(text)) {
    return plain;
  }
  double number = 0.0;
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || !std::isfinite(number) || number < 0.0) {
    return std::nullopt;
  }
  std::string_view rest(after, static_cast<std::size_t>(end - after));
  if (rest.starts_with(' ')) {
    rest.remove_prefix(1);
  }
  for (const CountSuffix& suffix : kCountSuffixes) {
    if (rest == suffix.text) {
      const double value = number * suffix.factor;
      // 1.46M is 1459999.9999999998 in binary: what is whole but for rounding is whole.
      const double whole = std::round(value);
      const bool good = whole <= kLargestCount && std::abs(value - whole) <= 1e-9 * whole;
      return good ? std::optional(static_cast<std::int64_t>(whole)) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace stepcast
