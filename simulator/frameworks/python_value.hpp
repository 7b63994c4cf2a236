// SPDX-License-Identifier: Apache-2.0
// A value of a Python expression that was read, not run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepcast/base/error.hpp"

namespace stepcast {

struct PythonKeyword;

struct PythonValue {
  enum class Kind { kLiteral, kList, kCall, kOpaque };
  Kind kind = Kind::kOpaque;
  std::string text;  // of a literal without quotes; of a call the dotted name; else as written
  std::vector<PythonValue> items;       // of a list; positional arguments
  std::vector<PythonKeyword> keywords;  // of a call
  Location where;
};

struct PythonKeyword {
  std::string name;
  PythonValue value;
};

// Of a literal that is a whole number.
std::optional<std::int64_t> whole(const PythonValue& value);
// How many values it consists of.
std::size_t size_of(const PythonValue& value);
// A keyword argument of a call, or null.
PythonValue* keyword_of(PythonValue& value, std::string_view name);
// a + b, a - b, a * b or a // b of whole numbers; of anything else its text.
PythonValue combined(const PythonValue& a, const std::string& sign, const PythonValue& b);

}  // namespace stepcast
