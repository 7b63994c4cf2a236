// SPDX-License-Identifier: Apache-2.0
// Scalars of a tree as the values that they may stand for.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "stepcast/config/config_node.hpp"

namespace stepcast {

// The range that a number must lie in, ends included.
template <typename T>
struct Range {
  T lowest;
  T highest;
};

// The same of a quantity, in the unit that messages and files write it in.
struct UnitRange {
  Range<double> range;
  std::string_view unit;
};

enum class NumberFault { kNone, kNoNumber, kOutOfRange };

template <typename T>
struct ScannedNumber {
  T value{};
  NumberFault fault = NumberFault::kNone;
};

// The number that a plain scalar is; a text, a list or a mapping is none.
ScannedNumber<std::int64_t> scan_whole(const ConfigNode& value, Range<std::int64_t> range);
ScannedNumber<double> scan_number(const ConfigNode& value, Range<double> range);
std::optional<double> number_of(const ConfigNode& value);
// The whole number that all of a text is, and the one that a text begins with.
std::optional<std::int64_t> whole_number_in(std::string_view text);
std::optional<std::int64_t> leading_number(std::string_view text);
// The truth value that a plain scalar is.
std::optional<bool> flag_of(const ConfigNode& value);

}  // namespace stepcast
