// SPDX-License-Identifier: Apache-2.0
// What a source says in words.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stepcast {

// Cut after 300 bytes: what is taken from a text stands in its first words.
std::string shortened(std::string text);
// Cut, and in lower case.
std::string short_remark(std::string text);
bool mentions(std::string_view remark, std::string_view part);

// What stands behind the first `part` of a remark; nothing where it does not mention it.
std::optional<std::string_view> behind(std::string_view remark, std::string_view part);

// At most `most` digits at the beginning of a text, and at its end, which may end in a blank.
std::string_view first_digits(std::string_view text, std::size_t most);
std::string_view last_digits(std::string_view text, std::size_t most);
// The number of a few digits.
int digits_value(std::string_view digits);

}  // namespace stepcast
