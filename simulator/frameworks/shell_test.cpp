// SPDX-License-Identifier: Apache-2.0
#include "frameworks/shell_test.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <span>

namespace stepcast {
namespace {

using Words = std::span<const std::string>;

std::int64_t number_in(const std::string& text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

bool compare(const std::string& left, const std::string& sign, const std::string& right) {
  const std::int64_t a = number_in(left);
  const std::int64_t b = number_in(right);
  if (sign == "=" || sign == "==") {
    return matches_pattern(left, right);
  }
  if (sign == "!=") {
    return !matches_pattern(left, right);
  }
  if (sign == "=~") {
    return left.find(right) != std::string::npos;
  }
  return (sign == "-eq" && a == b) || (sign == "-ne" && a != b) ||
         ((sign == "-gt" || sign == ">") && a > b) || ((sign == "-lt" || sign == "<") && a < b) ||
         (sign == "-ge" && a >= b) || (sign == "-le" && a <= b);
}

bool one_condition(Words words) {
  if (!words.empty() && words.front() == "!") {
    return !one_condition(words.subspan(1));
  }
  if (words.size() == 2) {
    return words[0] == "-z" ? words[1].empty() : words[0] == "-n" ? !words[1].empty() : true;
  }
  if (words.size() >= 3) {
    return compare(words[0], words[1], words[2]);
  }
  return !words.empty() && !words.front().empty() && words.front() != "-n";
}

template <typename Part>
bool any_part(Words words, std::string_view sign, std::string_view letter, Part holds) {
  while (true) {
    const auto end = std::find_if(words.begin(), words.end(), [&](const std::string& word) {
      return word == sign || word == letter;
    });
    const auto length = static_cast<std::size_t>(end - words.begin());
    if (holds(words.first(length))) {
      return true;
    }
    if (end == words.end()) {
      return false;
    }
    words = words.subspan(length + 1);
  }
}

}  // namespace

bool matches_pattern(std::string_view text, std::string_view pattern) {
  std::size_t at = 0;
  std::size_t from = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (at < text.size()) {
    if (from < pattern.size() && (pattern[from] == text[at] || pattern[from] == '?')) {
      ++at;
      ++from;
    } else if (from < pattern.size() && pattern[from] == '*') {
      star = from++;
      resume = at;
    } else if (star != std::string_view::npos) {
      from = star + 1;
      at = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', from) == std::string_view::npos;
}

bool shell_test(const std::vector<std::string>& words) {
  return any_part(Words(words), "||", "-o", [](Words alternative) {
    return !any_part(alternative, "&&", "-a", [](Words part) { return !one_condition(part); });
  });
}

}  // namespace stepcast
