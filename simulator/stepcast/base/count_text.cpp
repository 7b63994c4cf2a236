// SPDX-License-Identifier: Apache-2.0
#include "stepcast/base/count_text.hpp"

#include <array>
#include <charconv>
#include <cmath>

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

}  // namespace

std::optional<std::int64_t> parse_whole(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && after == end ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> parse_count(std::string_view text) {
  // Plain digits, which a double would round above 2^53.
  constexpr auto kLargest = static_cast<std::int64_t>(kLargestCount);
  if (const auto plain = parse_whole(text); plain && *plain >= 0 && *plain <= kLargest) {
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
