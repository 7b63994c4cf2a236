// SPDX-License-Identifier: Apache-2.0
// Integer expressions of shells, as inside $(( )): all operators of C on integers, ** and
// assignments; names of variables with or without a dollar.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace stepcast {

// Variables as an expression reads and sets them. The value of one is an expression in turn; an
// empty one counts as 0. `subscript` is empty for a scalar.
struct ShellNumbers {
  std::function<std::string(const std::string& name, const std::string& subscript)> value;
  std::function<void(const std::string& name, const std::string& subscript, std::int64_t)> set;
};

// Nothing where the text is no expression, divides by zero or leaves 64 bits.
std::optional<std::int64_t> shell_arithmetic(std::string_view text, const ShellNumbers& numbers);

}  // namespace stepcast
