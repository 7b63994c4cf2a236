// SPDX-License-Identifier: Apache-2.0
#include "stepcast/base/units.hpp"

#include <concepts>

#include "catch.hpp"

namespace stepcast::units_test {
namespace {

using namespace literals;

template <typename A, typename B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <typename A, typename B>
concept Comparable = requires(A a, B b) {
  a < b;
};
template <typename A, typename B>
concept Assignable = requires(A a, B b) {
  a += b;
};

TEST_CASE("quantities of different dimensions do not add up", "[unit]") {
  STATIC_REQUIRE(Addable<Bytes, Bytes>);
  STATIC_REQUIRE(Addable<Seconds, Seconds>);
  STATIC_REQUIRE_FALSE(Addable<Bytes, Seconds>);
  STATIC_REQUIRE_FALSE(Addable<Flops, Bytes>);
  STATIC_REQUIRE_FALSE(Addable<BytesPerSecond, Bytes>);
  STATIC_REQUIRE_FALSE(Addable<Watts, Joules>);
  STATIC_REQUIRE_FALSE(Assignable<Bytes&, Flops>);
}

TEST_CASE("quantities of different dimensions do not compare", "[unit]") {
  STATIC_REQUIRE(Comparable<Hertz, Hertz>);
  STATIC_REQUIRE_FALSE(Comparable<Hertz, Seconds>);
  STATIC_REQUIRE_FALSE(Comparable<Bytes, Flops>);
}

TEST_CASE("a bare number is no quantity and a quantity is no bare number", "[unit]") {
  STATIC_REQUIRE_FALSE(Addable<Bytes, double>);
  STATIC_REQUIRE_FALSE(Comparable<Seconds, double>);
  STATIC_REQUIRE_FALSE(std::convertible_to<double, Bytes>);
  STATIC_REQUIRE_FALSE(std::convertible_to<Bytes, double>);
  STATIC_REQUIRE_FALSE(std::convertible_to<Bytes, Seconds>);
}

TEST_CASE("products and quotients have the dimension that physics gives them", "[unit]") {
  STATIC_REQUIRE(std::same_as<decltype(Bytes(1) / Seconds(1)), BytesPerSecond>);
  STATIC_REQUIRE(std::same_as<decltype(Bytes(1) / BytesPerSecond(1)), Seconds>);
  STATIC_REQUIRE(std::same_as<decltype(FlopsPerSecond(1) * Seconds(1)), Flops>);
  STATIC_REQUIRE(std::same_as<decltype(FlopsPerCycle(1) * Hertz(1)), FlopsPerSecond>);
  STATIC_REQUIRE(std::same_as<decltype(BytesPerCycle(1) * Hertz(1)), BytesPerSecond>);
  STATIC_REQUIRE(std::same_as<decltype(Watts(1) * Seconds(1)), Joules>);
  STATIC_REQUIRE(std::same_as<decltype(1.0 / Seconds(1)), Hertz>);
}

TEST_CASE("a dimensionless result is a plain number", "[unit]") {
  STATIC_REQUIRE(std::same_as<decltype(Seconds(1) / Seconds(1)), double>);
  STATIC_REQUIRE(std::same_as<decltype(Hertz(1) * Seconds(1)), double>);
  CHECK(6_GB / 2_GB == 3.0);
}

TEST_CASE("arithmetic keeps base units", "[unit]") {
  CHECK((1_KiB + 1_B).value() == 1025.0);
  CHECK((2_MiB - 1_KiB).value() == 2096128.0);  // 2 * 1024 * 1024 - 1024
  CHECK((3.0 * 2_GB / BytesPerSecond(1e9)).value() == 6.0);
  CHECK((2048_B * 1000_MHz).value() == 2.048e12);  // 2048 B/cycle at 1 GHz
  CHECK((-2.5_us).value() == test::nearly(-2.5e-6));
  CHECK((2.0_s / 4.0).value() == 0.5);
}

TEST_CASE("max and min keep their dimension", "[unit]") {
  CHECK(max(1.0_us, 2.0_us) == 2.0_us);
  CHECK(min(1.0_us, 2.0_us) == 1.0_us);
  CHECK(Seconds{} == 0.0_s);
}

}  // namespace
}  // namespace stepcast::units_test
