// SPDX-License-Identifier: Apache-2.0
// Numbers as text, with a point in every locale that a process may have set.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stepcast {

// The number that the whole text is, a fraction or, for an integer type, a whole number; nothing
// where it is none, has more around it or is beyond the type.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, number);
  return fault == std::errc{} && stop == end ? std::optional(number) : std::nullopt;
}

// The number that `text` begins with: 1500 of "1500, 3201"; 0 if it begins with none.
double leading_decimal(std::string_view text);

// With as many digits after the point: 1.50 of 1.5 and 2.
std::string fixed_decimal(double value, int digits);

// To so many significant digits.
double rounded_to(double value, int digits);

// With one to three digits after the point and thousands separators, as reports print numbers; from
// 10^12 on a whole one.
std::string decimals(double value, int digits);

// Large whole numbers as people write them: "15T", "1.5B", "300M", "64k", "2e12" or plain digits.
//
// k, M, B and T are 10^3, 10^6, 10^9 and 10^12, as model cards count tokens and parameters.

// The count that `text` is; nothing if it is no whole number from 0 to 10^18. Case counts: "15t" is
// none.
std::optional<std::int64_t> parse_count(std::string_view text);

}  // namespace stepcast
