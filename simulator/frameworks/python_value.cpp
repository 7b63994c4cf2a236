// SPDX-License-Identifier: Apache-2.0
#include "frameworks/python_value.hpp"

#include <algorithm>
#include <charconv>

namespace stepcast {

using Kind = PythonValue::Kind;

std::optional<std::int64_t> whole(const PythonValue& value) {
  std::string digits = value.text;
  std::erase(digits, '_');
  std::int64_t number = 0;
  const auto* const end = digits.data() + digits.size();
  const auto scanned = std::from_chars(digits.data(), end, number);
  const bool good = value.kind == Kind::kLiteral && scanned.ec == std::errc{} && scanned.ptr == end;
  return good ? std::optional(number) : std::nullopt;
}

std::size_t size_of(const PythonValue& value) {
  std::size_t size = 1;
  for (const PythonValue& item : value.items) {
    size += size_of(item);
  }
  for (const auto& [name, item] : value.keywords) {
    size += size_of(item);
  }
  return size;
}

PythonValue* keyword_of(PythonValue& value, std::string_view name) {
  const auto found = std::find_if(value.keywords.begin(), value.keywords.end(),
                                  [name](const auto& entry) { return entry.name == name; });
  return found == value.keywords.end() ? nullptr : &found->value;
}

PythonValue combined(const PythonValue& a, const std::string& sign, const PythonValue& b) {
  const std::optional<std::int64_t> left = whole(a);
  const std::optional<std::int64_t> right = whole(b);
  std::int64_t result = 0;
  bool good = left && right;
  if (good && sign == "*") {
    good = !__builtin_mul_overflow(*left, *right, &result);
  } else if (good && sign == "+") {
    good = !__builtin_add_overflow(*left, *right, &result);
  } else if (good && sign == "-") {
    good = !__builtin_sub_overflow(*left, *right, &result);
  } else if (good) {
    good = *right > 0 && *left >= 0;
    result = good ? *left / *right : 0;
  }
  PythonValue value;
  value.kind = good ? Kind::kLiteral : Kind::kOpaque;
  value.text = good ? std::to_string(result) : (a.text + " " + sign + " " + b.text).substr(0, 200);
  value.where = a.where;
  return value;
}

}  // namespace stepcast
