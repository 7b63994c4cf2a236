// SPDX-License-Identifier: Apache-2.0
// Letters of ASCII, the same in every process: what <cctype> says depends on the locale that a
// program with this library in it has set. In Turkish its tolower leaves an I as it is.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace stepcast::ascii {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_letter(char c) { return is_lower(c) || is_upper(c); }
constexpr bool is_alphanumeric(char c) { return is_letter(c) || is_digit(c); }
// A letter of the names of variables, in shells, Python and C.
constexpr bool is_word(char c) { return is_alphanumeric(c) || c == '_'; }
constexpr bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
constexpr bool is_printable(char c) { return c >= ' ' && c <= '~'; }
constexpr bool is_punctuation(char c) { return is_printable(c) && c != ' ' && !is_alphanumeric(c); }

constexpr char lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }

inline std::string lower_case(std::string_view text) {
  std::string letters(text);
  std::transform(letters.begin(), letters.end(), letters.begin(), lower);
  return letters;
}

// Whether two characters, or two texts, differ in nothing but capitals.
constexpr bool same_letter(char a, char b) { return lower(a) == lower(b); }
constexpr bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_letter);
}

}  // namespace stepcast::ascii
