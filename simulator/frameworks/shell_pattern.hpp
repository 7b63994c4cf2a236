// SPDX-License-Identifier: Apache-2.0
// The patterns of shells: * for anything, ? for one letter, [a-z] and [!a-z] for one of some, \x
// for x itself; and extended regular expressions of [[ =~ ]], which the C library matches.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepcast {

bool matches_pattern(std::string_view text, std::string_view pattern);

// `text` as a pattern that it alone matches.
std::string as_pattern(std::string_view text);

// Whether a pattern has the forms @(a|b), +(a) and their kin, which nothing here matches.
bool is_extended_pattern(std::string_view pattern);

// Without the shortest or longest part that matches at its start or end.
enum class PatternEnd { kStart, kEnd };
enum class PatternReach { kShortest, kLongest };
std::string without_match(const std::string& text, const std::string& pattern, PatternEnd end,
                          PatternReach reach);

// With the first match, or each, replaced; at the start or end alone where the pattern begins with
// an unescaped # or %, which the caller has taken off.
enum class PatternPlaces { kFirst, kEach, kStart, kEnd };
std::string with_replaced(const std::string& text, const std::string& pattern,
                          const std::string& by, PatternPlaces places);

// What a regular expression matches in a text: the whole match and each group; empty where it does
// not. Nothing where the expression is none, or one whose matching could take long.
std::optional<std::vector<std::string>> regex_match(const std::string& text,
                                                    const std::string& pattern);

}  // namespace stepcast
