// SPDX-License-Identifier: Apache-2.0
#include "stepcast/base/decimal_text.hpp"

#include "catch.hpp"

namespace stepcast::decimal_text_test {
namespace {

TEST_CASE("a number is read from where a text begins", "[unit]") {
  CHECK(leading_decimal("1500, 3201, 694.02") == 1500.0);
  CHECK(leading_decimal("0.72") == 0.72);
  CHECK(leading_decimal("-2.5e-3 ms") == -2.5e-3);
  CHECK(leading_decimal("ms 1") == 0.0);
  CHECK(leading_decimal("") == 0.0);
}

TEST_CASE("a number has as many digits after the point as are asked for", "[unit]") {
  CHECK(fixed_decimal(1.5, 2) == "1.50");
  CHECK(fixed_decimal(-0.0625, 3) == "-0.062");
  CHECK(fixed_decimal(1234567.0, 0) == "1234567");
  CHECK(fixed_decimal(1.7976931348623157e308, 4).size() == 314);
}

TEST_CASE("a number is rounded to so many significant digits, whatever its size", "[unit]") {
  CHECK(rounded_to(12345.6, 4) == 12350.0);
  CHECK(rounded_to(0.0012345, 3) == 0.00123);
  CHECK(rounded_to(-6.0, 2) == -6.0);
  CHECK(rounded_to(9.996e14, 3) == 1e15);
  CHECK(rounded_to(0.0, 4) == 0.0);
}

}  // namespace
}  // namespace stepcast::decimal_text_test
