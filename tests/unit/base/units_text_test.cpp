// SPDX-License-Identifier: Apache-2.0
#include "stepcast/base/units_text.hpp"

#include <cmath>
#include <limits>
#include <random>

#include "catch.hpp"
#include "stepcast/base/error.hpp"

namespace stepcast::units_text_test {
namespace {

template <typename Q>
double parsed(std::string_view text) {
  const ParsedQuantity<Q> result = parse_quantity<Q>(text);
  return result.value ? result.value->value() : std::numeric_limits<double>::quiet_NaN();
}
template <typename Q>
QuantityFault fault(std::string_view text) {
  const ParsedQuantity<Q> result = parse_quantity<Q>(text);
  CHECK(result.value.has_value() == (result.fault == QuantityFault::kNone));
  return result.fault;
}

TEST_CASE("prefixes are powers of 1000, and of 1024 with an i", "[unit]") {
  CHECK(parsed<Bytes>("80 GB") == 80e9);
  CHECK(parsed<Bytes>("80 GiB") == 80.0 * 1024 * 1024 * 1024);
  CHECK(parsed<Bytes>("256 KiB") == 262144.0);
  CHECK(parsed<Bytes>("256 kB") == 256000.0);
  CHECK(parsed<Bytes>("192GB") == 192e9);  // the space may be left out
  CHECK(parsed<FlopsPerSecond>("989 TFLOP/s") == 989e12);
  CHECK(parsed<Flops>("1 EFLOP") == 1e18);
  CHECK(parsed<Flops>("1EFLOP") == 1e18);  // the E is no exponent
  CHECK(parsed<FlopsPerCycle>("2048 FLOP/clk") == 2048.0);
  CHECK(parsed<Seconds>("1.5 us") == Approx(1.5e-6).epsilon(1e-15));
  CHECK(parsed<Seconds>("2 h") == 7200.0);
  CHECK(parsed<Hertz>("1830 MHz") == 1.83e9);
  CHECK(parsed<Watts>("1.4 kW") == 1400.0);
  CHECK(parsed<Joules>("3 J") == 3.0);
}

TEST_CASE("b is a bit and B is a byte", "[unit]") {
  CHECK(parsed<BytesPerSecond>("400 Gb/s") == 50e9);  // 400e9 / 8
  CHECK(parsed<BytesPerSecond>("400 GB/s") == 400e9);
  CHECK(parsed<BytesPerSecond>("400 GiB/s") == 400.0 * 1024 * 1024 * 1024);
  CHECK(fault<Bytes>("80 Gb") == QuantityFault::kWrongUnit);
}

TEST_CASE("a number without a unit is refused, zero as well", "[unit]") {
  CHECK(fault<Bytes>("80") == QuantityFault::kNoUnit);
  CHECK(fault<Bytes>("0") == QuantityFault::kNoUnit);
  CHECK(fault<Seconds>("1.5 ") == QuantityFault::kNoUnit);
}

TEST_CASE("a unit of another dimension or in the wrong case is refused", "[unit]") {
  CHECK(fault<Bytes>("80 GB/s") == QuantityFault::kWrongUnit);
  CHECK(fault<BytesPerSecond>("80 GB") == QuantityFault::kWrongUnit);
  CHECK(fault<Bytes>("80 gb") == QuantityFault::kWrongUnit);
  CHECK(fault<Seconds>("5 MS") == QuantityFault::kWrongUnit);
  CHECK(fault<Hertz>("1 ghz") == QuantityFault::kWrongUnit);
  CHECK(fault<Bytes>("0x10 B") == QuantityFault::kWrongUnit);  // 0, then "x10 B"
  CHECK(fault<Bytes>("1,000 B") == QuantityFault::kWrongUnit);
  CHECK(fault<Bytes>("1 B B") == QuantityFault::kWrongUnit);
}

TEST_CASE("what is no number is refused", "[unit]") {
  for (const char* text : {"", " ", "GB", "many GB", ".inf B", "inf B", "nan B", "-inf B", "- 1 B",
                           "+1 B", "e5 B", "--1 B"}) {
    CAPTURE(text);
    CHECK(fault<Bytes>(text) == QuantityFault::kNotANumber);
  }
}

TEST_CASE("a number beyond what a double holds is out of range", "[unit]") {
  CHECK(fault<Bytes>("1e400 B") == QuantityFault::kOutOfRange);
  CHECK(fault<Bytes>("-1e400 B") == QuantityFault::kOutOfRange);
  CHECK(fault<Bytes>("1e300 TB") == QuantityFault::kOutOfRange);  // 1e300 * 1e12
  CHECK(fault<FlopsPerSecond>(std::string(400, '9') + " FLOP/s") == QuantityFault::kOutOfRange);
}

TEST_CASE("a quantity prints with the largest prefix that keeps it at 1 or more", "[unit]") {
  CHECK(format_quantity(Bytes(0)) == "0 B");
  CHECK(format_quantity(Bytes(80e9)) == "80 GB");
  CHECK(format_quantity(Bytes(999)) == "999 B");
  CHECK(format_quantity(BytesPerSecond(3.35e12)) == "3.35 TB/s");
  CHECK(format_quantity(BytesPerSecond(50e9)) == "50 GB/s");
  CHECK(format_quantity(Hertz(2.1e9)) == "2.1 GHz");
  CHECK(format_quantity(Watts(750)) == "750 W");
  CHECK(format_quantity(FlopsPerSecond(989.4e12)) == "989.4 TFLOP/s");
  CHECK(format_quantity(Bytes(-2e6)) == "-2 MB");
}

TEST_CASE("what a user wrote with a usual prefix prints as it was written", "[unit]") {
  for (const char* text : {"2.5 us", "1.5 us", "428 ns", "12 ms", "7 s"}) {
    const ParsedQuantity<Seconds> written = parse_quantity<Seconds>(text);
    REQUIRE(written.value.has_value());
    CHECK(format_quantity(*written.value) == text);
  }
}

// The factor of a small prefix is no exact double: 2.5 * 1e-6 is not the double nearest to 2.5e-6.
TEST_CASE("a text with a small prefix is the nearest double to what it says", "[unit]") {
  CHECK(parsed<Seconds>("2.5 us") == 2.5e-6);
  CHECK(parsed<Seconds>("1.5 us") == 1.5e-6);
  CHECK(parsed<Seconds>("428 ns") == 428e-9);
  CHECK(parsed<Joules>("1.5 pJ") == 1.5e-12);
}

// 10^-30 to 10^30, of both signs, and the ends of the range of doubles.
template <typename Q>
void check_text_parses_back() {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> mantissa(-10.0, 10.0);
  std::uniform_int_distribution<int> exponent(-30, 30);
  std::vector<double> values = {0.0,
                                1.0,
                                std::numeric_limits<double>::max(),
                                std::numeric_limits<double>::lowest(),
                                std::numeric_limits<double>::min(),
                                std::numeric_limits<double>::denorm_min(),
                                std::nextafter(1e9, 0.0),
                                std::nextafter(1e9, 2e9),
                                0.1};
  for (int i = 0; i < 2000; ++i) {
    values.push_back(mantissa(random) * std::pow(10.0, exponent(random)));
    values.push_back(std::round(values.back()));
  }
  int failures = 0;
  for (const double value : values) {
    const std::string text = format_quantity(Q(value));
    if (parsed<Q>(text) != value) {
      ++failures;
      CAPTURE(text, value);
      CHECK(parsed<Q>(text) == value);
    }
  }
  CHECK(failures == 0);
}

TEST_CASE("numbers of any size print without overflow", "[unit]") {
  CHECK(whole_number(1234567.4) == "1,234,567");
  CHECK(whole_number(-0.6) == "-1");
  CHECK(whole_number(999e12) == "999,000,000,000,000");
  CHECK(whole_number(1e18) == "1.000e+18");
  CHECK(whole_number(-1.2346e30) == "-1.235e+30");
  CHECK(significant(1.2345e30, 3) == "1.23e+30");
  CHECK(significant(123456.0, 4) == "123,456");
  CHECK(quantity_of<Hertz>(2.1, "GHz") == Hertz(2.1e9));
  CHECK_THROWS_AS(quantity_of<Hertz>(1.0, "W"), InternalError);
}

TEST_CASE("parse(format(x)) is x for every dimension", "[property]") {
  check_text_parses_back<Bytes>();
  check_text_parses_back<Flops>();
  check_text_parses_back<Seconds>();
  check_text_parses_back<Joules>();
  check_text_parses_back<Hertz>();
  check_text_parses_back<BytesPerSecond>();
  check_text_parses_back<FlopsPerSecond>();
  check_text_parses_back<Watts>();
}

template <typename Q>
void check_example_parses() {
  std::string_view example = quantity_example<Q>();
  while (!example.empty()) {
    const std::size_t end = example.find(" or ");
    const std::string_view one = example.substr(0, end);
    CAPTURE(one);
    CHECK(parse_quantity<Q>(one).value.has_value());
    example = end == std::string_view::npos ? std::string_view{} : example.substr(end + 4);
  }
}

TEST_CASE("the examples in error messages are well-formed", "[unit]") {
  check_example_parses<Bytes>();
  check_example_parses<Flops>();
  check_example_parses<Seconds>();
  check_example_parses<Joules>();
  check_example_parses<Hertz>();
  check_example_parses<BytesPerSecond>();
  check_example_parses<FlopsPerSecond>();
  check_example_parses<Watts>();
}

TEST_CASE("whole numbers get thousands separators", "[unit]") {
  CHECK(with_separators(0) == "0");
  CHECK(with_separators(999) == "999");
  CHECK(with_separators(1000) == "1,000");
  CHECK(with_separators(-1234567) == "-1,234,567");
}

TEST_CASE("text for people has four significant digits and a fitting unit", "[unit]") {
  CHECK(readable(Seconds(1.2344e-3)) == "1.234 ms");
  CHECK(readable(Seconds(0)) == "0 s");
  CHECK(readable(Seconds(12.3456)) == "12.35 s");
  CHECK(readable(Bytes(56.7 * 1024 * 1024 * 1024)) == "56.70 GiB");
  CHECK(readable(Bytes(512)) == "512.0 B");
  CHECK(significant(1234567.0, 4) == "1,234,567");
  CHECK(significant(0.00012345, 3) == "0.000123");
}

}  // namespace
}  // namespace stepcast::units_text_test
