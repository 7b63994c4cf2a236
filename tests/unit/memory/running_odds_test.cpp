// SPDX-License-Identifier: Apache-2.0
#include "stepcast/memory/running_odds.hpp"

#include <cmath>

#include "catch.hpp"

namespace stepcast::running_odds_test {
using stepcast::test::nearly;

namespace {

constexpr Bytes kCapacity(100e9);

StageMemory holding(double allocated, double reserved) {
  StageMemory stage;
  stage.parameters = allocated * kCapacity;
  stage.reserved = reserved * kCapacity;
  return stage;
}

TEST_CASE("At the centre of the errors half of what does not run despite all runs", "[unit]") {
  const MemoryErrors errors{0.0, 0.06, 0.05};
  CHECK(odds_of_running(holding(1.0, 1.0), kCapacity, errors) == nearly(0.525));
  // One scale below it: 1 / (1 + 1 / e) = 0.7310586 of the other 95 %.
  const double below = std::exp(-0.06);
  CHECK(odds_of_running(holding(below, below), kCapacity, errors) ==
        Approx(0.05 + 0.95 * 0.7310586).epsilon(1e-7));
}

TEST_CASE("What is in use counts three times as much as what is allocated", "[unit]") {
  // ln 0.8 + 3 ln y = 4 ln 0.9
  CHECK(odds_of_running(holding(0.8, std::cbrt(std::pow(0.9, 4) / 0.8)), kCapacity) ==
        nearly(odds_of_running(holding(0.9, 0.9), kCapacity)));
  StageMemory stage = holding(0.7, 0.75);
  stage.outside = 0.1 * kCapacity;
  CHECK(odds_of_running(stage, kCapacity) ==
        nearly(odds_of_running(holding(0.8, 0.85), kCapacity)));
}

TEST_CASE("A framework's pool is all the room for what it holds, and nothing else is in it",
          "[unit]") {
  StageMemory stage = holding(0.45, 0.45);
  stage.pool_share = 0.5;
  stage.outside = 0.4 * kCapacity;
  CHECK(odds_of_running(stage, kCapacity) == nearly(odds_of_running(holding(0.9, 0.9), kCapacity)));
}

TEST_CASE("The odds never rise with what a rank holds, and stay between the floor and one",
          "[property]") {
  double before = 1.0;
  for (double share = 0.01; share < 20.0; share *= 1.05) {
    const double odds = odds_of_running(holding(share, 1.05 * share), kCapacity);
    CAPTURE(share);
    CHECK(odds <= before);
    CHECK(odds >= MemoryErrors{}.despite);
    before = odds;
  }
}

TEST_CASE("Without the memory that is missing a rank is as sure as asked", "[property]") {
  for (const double sure : {0.3, 0.5, 0.95, 0.99}) {
    for (const double in_use : {0.95, 1.0, 1.3, 3.0}) {
      StageMemory stage = holding(0.94, in_use);
      const Bytes missing = missing_memory(stage, kCapacity, sure);
      const double odds = odds_of_running(stage, kCapacity);
      CAPTURE(sure, in_use, odds);
      CHECK((missing > Bytes{}) == (odds < sure));
      if (missing > Bytes{}) {
        stage.parameters -= missing;
        stage.reserved -= missing;
        CHECK(odds_of_running(stage, kCapacity) == Approx(sure).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("No rank that holds more than the most is as sure", "[property]") {
  for (const double sure : {0.2, 0.5, 0.95, 0.999}) {
    const Bytes most = most_memory(kCapacity, sure);
    CAPTURE(sure, most.value());
    CHECK(odds_of_running(holding(most / kCapacity, most / kCapacity), kCapacity) ==
          Approx(sure).epsilon(1e-9));
    CHECK(odds_of_running(holding(1.001 * (most / kCapacity), 0.0), kCapacity) < sure);
  }
}

}  // namespace
}  // namespace stepcast::running_odds_test
