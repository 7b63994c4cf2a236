// SPDX-License-Identifier: Apache-2.0
// The integer expressions of shells, inside $(( )): + - * / % ** and comparisons, parentheses,
// names of variables with or without a dollar.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace stepcast {

// The value of a variable; empty if it has none, which counts as 0.
using ShellVariable = std::function<std::string(const std::string& name)>;

// Nothing where the text is no expression, divides by zero or leaves 64 bits.
std::optional<std::int64_t> shell_arithmetic(std::string_view text, const ShellVariable& variable);

}  // namespace stepcast
