// SPDX-License-Identifier: Apache-2.0
#include "stepcast/cost/price_slopes.hpp"

#include <array>

#include "catch.hpp"

namespace stepcast::price_slopes_test {
namespace {

// Operators of one kind.
constexpr std::array<std::size_t, 1> kOne = {};
constexpr std::array<std::size_t, 4> kFour = {};

// A wire whose rate is used to a share, and a start that takes a latency.
struct Wire {
  double share = 0.5;
  BytesPerSecond rate{10.0};
  Seconds latency{3.0};
  Seconds unread{7.0};

  [[nodiscard]] std::vector<PlacedNumber> numbers() {
    return {{&origin, &share}, {&origin, &rate}, {&origin, &unread}, {&origin, &latency}};
  }
  // 20 bytes: 4 s on the wire after 3 s; the clock makes 1 s of work.
  [[nodiscard]] OpCost cost(double clock_share) const {
    OpCost cost;
    cost.terms = {{"wire", Bytes(20.0) / (share * rate)},
                  {"start", latency},
                  {"work", Seconds(1.0) / clock_share}};
    cost.duration = cost.terms[0].duration + cost.terms[1].duration + cost.terms[2].duration;
    cost.energy = Joules(5.0 * rate.value());
    return cost;
  }

  Provenance origin;
};

TEST_CASE("the slope of a term is its time for each number that is a factor of it", "[unit]") {
  Wire wire;
  const std::vector<PlacedNumber> numbers = wire.numbers();
  const SlopedPrice price =
      price_slopes(
          kOne, [&](std::size_t, double clock) { return wire.cost(clock); }, numbers)
          .front();
  CHECK(price.cost.duration == Seconds(8.0));
  REQUIRE(price.numbers.size() == 3);  // not the one that is not read
  const PriceSlope& share = price.numbers[0];
  CHECK(share.number == 0);
  CHECK(share.terms[0].value() == Approx(-4.0).epsilon(1e-5));
  CHECK(share.terms[1].value() == 0.0);
  CHECK(share.duration().value() == Approx(-4.0).epsilon(1e-5));
  CHECK(share.energy == Joules(0.0));
  const PriceSlope& rate = price.numbers[1];
  CHECK(rate.number == 1);
  CHECK(rate.terms[0].value() == Approx(-4.0).epsilon(1e-5));
  CHECK(rate.energy.value() == Approx(50.0).epsilon(1e-5));
  CHECK(price.numbers[2].number == 3);
  CHECK(price.numbers[2].duration().value() == Approx(3.0).epsilon(1e-5));
  CHECK(price.clock.terms[2].value() == Approx(-1.0).epsilon(1e-5));
  CHECK(price.clock.duration().value() == Approx(-1.0).epsilon(1e-5));
}

TEST_CASE("moving numbers leaves their values as they were, to the bit", "[unit]") {
  Wire wire;
  wire.share = 0.1 + 0.2;
  const std::vector<PlacedNumber> numbers = wire.numbers();
  price_slopes(
      kOne, [&](std::size_t, double clock) { return wire.cost(clock); }, numbers);
  CHECK(wire.share == 0.1 + 0.2);
  CHECK(wire.rate == BytesPerSecond(10.0));
  CHECK(wire.latency == Seconds(3.0));
}

TEST_CASE("operators that follow the same numbers are priced for those alone", "[unit]") {
  std::vector<double> values(64, 1.0);
  Provenance origin;
  std::vector<PlacedNumber> numbers;
  for (double& value : values) {
    numbers.push_back({&origin, &value});
  }
  // Operators 0 and 1 follow numbers 3 and 40, operator 2 number 40 alone, operator 3 number 50.
  std::vector<int> asked(4);
  const auto price = [&](std::size_t op, double) {
    ++asked[op];
    OpCost cost;
    cost.duration = op == 3   ? Seconds(values[50])
                    : op == 2 ? Seconds(2.0 * values[40])
                              : Seconds(values[3] + static_cast<double>(op) + values[40]);
    return cost;
  };
  const std::vector<SlopedPrice> prices = price_slopes(kFour, price, numbers);
  const auto followed = [&](std::size_t op) {
    std::vector<std::size_t> places;
    for (const PriceSlope& slope : prices[op].numbers) {
      places.push_back(slope.number);
    }
    return places;
  };
  CHECK(followed(0) == std::vector<std::size_t>{3, 40});
  CHECK(followed(1) == std::vector<std::size_t>{3, 40});
  CHECK(followed(2) == std::vector<std::size_t>{40});
  CHECK(followed(3) == std::vector<std::size_t>{50});
  CHECK(prices[2].numbers[0].duration().value() == Approx(2.0).epsilon(1e-5));
  // By itself, at another clock, with all the others moved, with each of the two.
  CHECK(asked[1] == 5);
  CHECK(asked[2] == 5);
  CHECK(asked[0] > asked[1]);
}

TEST_CASE("two numbers that undo each other are both found", "[unit]") {
  Wire wire;
  const std::vector<PlacedNumber> numbers = wire.numbers();
  const auto quotient = [&](std::size_t, double) {
    OpCost cost;
    cost.duration = Seconds(wire.share / wire.rate.value());
    return cost;
  };
  const SlopedPrice price = price_slopes(kOne, quotient, numbers).front();
  REQUIRE(price.numbers.size() == 2);
  CHECK(price.numbers[0].duration().value() == Approx(0.05).epsilon(1e-5));
  CHECK(price.numbers[1].duration().value() == Approx(-0.05).epsilon(1e-5));
}

TEST_CASE("a model that changes its kernel moves every term as the whole", "[unit]") {
  Wire wire;
  const std::vector<PlacedNumber> numbers = wire.numbers();
  // Two kernels of the same time at the latency as it is: 3 + 1 s, or 4 s in the other term.
  const auto either = [&](std::size_t, double) {
    const bool first = wire.latency <= Seconds(3.0);
    OpCost cost;
    cost.terms = {{"a", first ? wire.latency : Seconds(0.0)},
                  {"b", first ? Seconds(1.0) : wire.latency + Seconds(1.0)}};
    cost.duration = wire.latency + Seconds(1.0);
    return cost;
  };
  const SlopedPrice price = price_slopes(kOne, either, numbers).front();
  REQUIRE(price.numbers.size() == 1);
  CHECK(price.numbers[0].terms[0].value() == Approx(0.75 * 3.0).epsilon(1e-5));
  CHECK(price.numbers[0].terms[1].value() == Approx(0.25 * 3.0).epsilon(1e-5));
}

}  // namespace
}  // namespace stepcast::price_slopes_test
