// SPDX-License-Identifier: Apache-2.0
#include "stepcast/config/scalar.hpp"

#include <charconv>
#include <cmath>
#include <limits>

namespace stepcast {
namespace {

template <typename T>
ScannedNumber<T> scanned(const ConfigNode& value, Range<T> range) {
  ScannedNumber<T> number;
  const char* const end = value.text.data() + value.text.size();
  const auto [after, error] = std::from_chars(value.text.data(), end, number.value);
  if (value.kind != ConfigNode::Kind::kScalar || value.quoted || after != end ||
      error == std::errc::invalid_argument) {
    number.fault = NumberFault::kNoNumber;
  } else if (error == std::errc::result_out_of_range || number.value < range.lowest ||
             number.value > range.highest) {
    number.fault = NumberFault::kOutOfRange;
  }
  return number;
}

}  // namespace

ScannedNumber<std::int64_t> scan_whole(const ConfigNode& value, Range<std::int64_t> range) {
  ScannedNumber<std::int64_t> number = scanned(value, range);
  if (value.text.size() > 1 && value.text.front() == '0') {  // octal to some readers of YAML
    number.fault = NumberFault::kNoNumber;
  }
  return number;
}

ScannedNumber<double> scan_number(const ConfigNode& value, Range<double> range) {
  ScannedNumber<double> number = scanned(value, range);
  if (!std::isfinite(number.value)) {
    number.fault = NumberFault::kNoNumber;
  }
  return number;
}

std::optional<double> number_of(const ConfigNode& value) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  const ScannedNumber<double> number = scan_number(value, {-kLargest, kLargest});
  return number.fault == NumberFault::kNone ? std::optional(number.value) : std::nullopt;
}

std::optional<std::int64_t> whole_number_in(std::string_view text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && after == end ? std::optional(number) : std::nullopt;
}

std::optional<std::int64_t> leading_number(std::string_view text) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc{} ? std::optional(number) : std::nullopt;
}

std::optional<bool> flag_of(const ConfigNode& value) {
  const bool plain = value.kind == ConfigNode::Kind::kScalar && !value.quoted;
  if (!plain || (value.text != "true" && value.text != "false")) {
    return std::nullopt;
  }
  return value.text == "true";
}

}  // namespace stepcast
