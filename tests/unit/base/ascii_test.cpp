// SPDX-License-Identifier: Apache-2.0
#include "stepcast/base/ascii.hpp"

#include <cctype>

#include "catch.hpp"

namespace stepcast::ascii_test {
namespace {

TEST_CASE("letters are those of the locale C, and bytes above ASCII are none", "[unit]") {
  for (int byte = 0; byte < 256; ++byte) {
    CAPTURE(byte);
    const char c = static_cast<char>(byte);
    CHECK(ascii::is_digit(c) == (std::isdigit(byte) != 0));
    CHECK(ascii::is_lower(c) == (std::islower(byte) != 0));
    CHECK(ascii::is_upper(c) == (std::isupper(byte) != 0));
    CHECK(ascii::is_letter(c) == (std::isalpha(byte) != 0));
    CHECK(ascii::is_alphanumeric(c) == (std::isalnum(byte) != 0));
    CHECK(ascii::is_space(c) == (std::isspace(byte) != 0));
    CHECK(ascii::is_printable(c) == (std::isprint(byte) != 0));
    CHECK(ascii::is_punctuation(c) == (std::ispunct(byte) != 0));
    CHECK(ascii::lower(c) == static_cast<char>(std::tolower(byte)));
  }
}

TEST_CASE("small letters take the place of capitals, and nothing else changes", "[unit]") {
  CHECK(ascii::lower_case("MI300X-v0.1 \xc3\x84") == "mi300x-v0.1 \xc3\x84");
}

}  // namespace
}  // namespace stepcast::ascii_test
