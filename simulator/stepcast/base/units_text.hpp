// SPDX-License-Identifier: Apache-2.0
// Quantities as text: "192 GB", "141 GiB", "3.35 TB/s", "400 Gb/s", "989 TFLOP/s", "1.5 us",
// "2.1 GHz", "750 W".
//
// Case-sensitive: B is byte and b is bit, G is 10^9 and Gi is 2^30. A unit is always required. The
// printed text is the shortest that parses back to the same value: parse(format(x)) == x.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stepcast/base/units.hpp"

namespace stepcast {

inline constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;  // in bytes

// What is wrong with a text that is no quantity of the wanted dimension.
enum class QuantityFault { kNone, kNotANumber, kNoUnit, kWrongUnit, kOutOfRange };

template <typename Q>
struct ParsedQuantity {
  std::optional<Q> value;
  QuantityFault fault = QuantityFault::kNone;
};

// Parses `text`; the result has a value, or the fault that says why it has none.
template <typename Q>
ParsedQuantity<Q> parse_quantity(std::string_view text);

// `number` of a unit of this dimension: (80, "GB").
template <typename Q>
Q quantity_of(double number, std::string_view unit);

// An example of a well-formed text of this dimension, for error messages: "80 GB or 80 GiB".
template <typename Q>
std::string_view quantity_example();

// The shortest text that parses to the same value, with the largest prefix that keeps it >= 1.
template <typename Q>
std::string format_quantity(Q quantity);

// The same to so many significant digits, as a number that was worked out is told.
template <typename Q>
std::string rounded_quantity(Q quantity, int digits);

// The shortest decimal text that reads back to the same number.
std::string shortest_text(double value);
// A number with `digits` significant digits, with thousands separators above 999 if whole; from
// 10^15 on with the power of ten.
std::string significant(double value, int digits);
// A whole number with thousands separators: 1,234,567.
std::string with_separators(long long value);
// The nearest whole number, likewise; from 10^15 on four digits and the power of ten: 1.235e+18.
std::string whole_number(double value);

// Text for people, 4 significant digits: "1.234 ms", "56.70 GiB".
std::string readable(Seconds value);
std::string readable(Bytes value);

}  // namespace stepcast
