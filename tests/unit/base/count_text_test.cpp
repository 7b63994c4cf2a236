// SPDX-License-Identifier: Apache-2.0
#include "stepcast/base/decimal_text.hpp"

#include "catch.hpp"

namespace stepcast::count_text_test {
namespace {

TEST_CASE("a count has a suffix, an exponent or plain digits", "[unit]") {
  CHECK(parse_count("15T") == 15'000'000'000'000);
  CHECK(parse_count("14.8T") == 14'800'000'000'000);
  CHECK(parse_count("300B") == 300'000'000'000);
  CHECK(parse_count("1.46M") == 1'460'000);
  CHECK(parse_count("64k") == 64'000);
  CHECK(parse_count("64 k") == 64'000);
  CHECK(parse_count("2e12") == 2'000'000'000'000);
  CHECK(parse_count("0") == 0);
  CHECK(parse_count("9007199254740993") == 9'007'199'254'740'993);  // 2^53 + 1 is no double
  CHECK(parse_count("1000000000000000000") == 1'000'000'000'000'000'000);
}

TEST_CASE("what is no whole number of things is no count", "[unit]") {
  for (const char* text : {"", "T", "15t", "15 TB", "15TT", "-1", "-1T", "0.5", "1.0000001k", "nan",
                           "inf", "1e300", "1000001T", "15  T", " 15T", "15,000"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_count(text).has_value());
  }
}

}  // namespace
}  // namespace stepcast::count_text_test
