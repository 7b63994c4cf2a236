// SPDX-License-Identifier: Apache-2.0
#include "stepcast/base/utf8.hpp"

#include "catch.hpp"

namespace stepcast::utf8_test {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

TEST_CASE("text of every length of sequence is UTF-8", "[unit]") {
  CHECK(first_not_utf8("") == kNone);
  CHECK(first_not_utf8("plain\n") == kNone);
  CHECK(first_not_utf8("\xC3\xBC\xE4\xB8\xAD\xF0\x9F\x98\x80") ==
        kNone);                                                    // U+00FC, U+4E2D, U+1F600
  CHECK(first_not_utf8("\xEE\x80\x80\xF4\x8F\xBF\xBF") == kNone);  // U+E000, U+10FFFF
}

TEST_CASE("the first byte that is no UTF-8 is found", "[unit]") {
  CHECK(first_not_utf8("f\xFCr") == 1);            // Latin-1
  CHECK(first_not_utf8("ab\xC3") == 2);            // cut off
  CHECK(first_not_utf8("\xE4\xB8.") == 0);         // cut short
  CHECK(first_not_utf8("a\xC0\x80") == 1);         // longer than need be
  CHECK(first_not_utf8("\xE0\x80\x80") == 0);      // so too
  CHECK(first_not_utf8("\xED\xA0\x80") == 0);      // a surrogate
  CHECK(first_not_utf8("\xF4\x90\x80\x80") == 0);  // beyond U+10FFFF
  CHECK(first_not_utf8("\xC3\xBC\x80") == 2);      // a byte of a sequence without its first
}

}  // namespace
}  // namespace stepcast::utf8_test
