// SPDX-License-Identifier: Apache-2.0
// The expressions of shells that are computed: integers inside $(( )), which have + - * / % ** and
// comparisons, parentheses, names of variables with or without a dollar; and the conditions of
// [ "$A" = b ] and [[ -n $A && $B == x* ]].
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepcast {

// The value of a variable; empty if it has none, which counts as 0.
using ShellVariable = std::function<std::string(const std::string& name)>;

// The value of an integer expression; nothing where the text is none, divides by zero or leaves 64
// bits.
std::optional<std::int64_t> shell_arithmetic(std::string_view text, const ShellVariable& variable);

// Whether the condition that the words between the brackets are holds. Files are taken to exist.
bool shell_test(const std::vector<std::string>& words);

// Whether `text` is `pattern`, in which * stands for anything and ? for one letter.
bool matches_pattern(std::string_view text, std::string_view pattern);

}  // namespace stepcast
