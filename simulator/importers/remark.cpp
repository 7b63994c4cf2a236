// SPDX-License-Identifier: Apache-2.0
#include "importers/remark.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "stepcast/base/ascii.hpp"

namespace stepcast {

std::string shortened(std::string text) {
  constexpr std::size_t kLongest = 300;
  text.resize(std::min(text.size(), kLongest));
  return text;
}

std::string short_remark(std::string text) { return ascii::lower_case(shortened(std::move(text))); }

bool mentions(std::string_view remark, std::string_view part) {
  return remark.find(part) != std::string_view::npos;
}

std::optional<std::string_view> behind(std::string_view remark, std::string_view part) {
  const std::size_t at = remark.find(part);
  return at == std::string_view::npos ? std::nullopt
                                      : std::optional(remark.substr(at + part.size()));
}

std::string_view first_digits(std::string_view text, std::size_t most) {
  std::size_t count = 0;
  while (count < std::min(most, text.size()) && ascii::is_digit(text[count])) {
    ++count;
  }
  return text.substr(0, count);
}

std::string_view last_digits(std::string_view text, std::size_t most) {
  text.remove_suffix(text.ends_with(' ') ? 1 : 0);
  std::size_t count = 0;
  while (count < std::min(most, text.size()) && ascii::is_digit(text[text.size() - 1 - count])) {
    ++count;
  }
  return text.substr(text.size() - count);
}

int digits_value(std::string_view digits) {
  int number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

}  // namespace stepcast
