// SPDX-License-Identifier: Apache-2.0
#include "stepcast/diagnosis/size_fit.hpp"

#include <cmath>

#include "catch.hpp"

namespace stepcast::size_fit_test {
namespace {

using Values = std::vector<double>;

TEST_CASE("a share of a range is even in its logarithm, whichever end is larger", "[unit]") {
  const SizeRange down{100.0, 1.0};
  CHECK(down.at(0.0) == Approx(100.0));
  CHECK(down.at(0.5) == Approx(10.0));
  CHECK(down.share(1.0) == Approx(1.0));
  CHECK(SizeRange{1.0, 4.0}.share(2.0) == Approx(0.5));
}

// A step of 1 s and 1 s times the size, measured at 4 s: the size is 3.
TEST_CASE("one figure is met by its size", "[unit]") {
  int tries = 0;
  const auto fit = fit_size({1.0, 100.0},
                            [&tries](double size) {
                              ++tries;
                              return Values{std::log(4.0 / (1.0 + size))};
                            },
                            {0.02});
  REQUIRE(fit);
  CHECK(fit->size == Approx(3.0).epsilon(0.005));
  CHECK_FALSE(fit->at_bound);
  CHECK(std::abs(fit->residuals.front()) < 1e-3);
  CHECK(residuals_at(fit->tried, 0.0).front() == Approx(std::log(2.0)));
  CHECK(tries <= 13);
}

// A rate of 64 that falls to 8: a step that is all communication is twice as long at half of it.
TEST_CASE("a size may fall", "[unit]") {
  const auto fit = fit_size(
      {64.0, 8.0}, [](double rate) { return Values{std::log(2.0 * rate / 64.0)}; }, {0.02});
  REQUIRE(fit);
  CHECK(fit->size == Approx(32.0).epsilon(0.002));
}

TEST_CASE("a size that would have to be larger than possible stays at its bound", "[unit]") {
  const auto fit =
      fit_size({1.0, 4.0}, [](double size) { return Values{std::log(8.0 / size)}; }, {0.02});
  REQUIRE(fit);
  CHECK(fit->size == Approx(4.0));
  CHECK(fit->at_bound);
  CHECK(fit->residuals.front() == Approx(std::log(2.0)));
}

// ln s is pulled to ln 2 and to ln 8 with one weight: it is ln 4. With a third of the error, nine
// times the weight, the second pulls it to (ln 2 + 9 ln 8) / 10.
TEST_CASE("several figures share a size by their errors", "[unit]") {
  const auto residuals = [](double size) {
    return Values{std::log(2.0 / size), std::log(8.0 / size)};
  };
  CHECK(fit_size({1.0, 16.0}, residuals, {0.03, 0.03})->size == Approx(4.0).epsilon(0.005));
  CHECK(fit_size({1.0, 16.0}, residuals, {0.03, 0.01})->size ==
        Approx(std::exp((std::log(2.0) + 9.0 * std::log(8.0)) / 10.0)).epsilon(0.005));
}

TEST_CASE("between two sizes that were tried residuals are straight", "[unit]") {
  const std::map<double, Values> tried = {{0.0, {1.0}}, {0.5, {0.0}}, {1.0, {-3.0}}};
  CHECK(residuals_at(tried, 0.25) == Values{0.5});
  CHECK(residuals_at(tried, 0.5) == Values{0.0});
  CHECK(residuals_at(tried, 0.75) == Values{-1.5});
  CHECK(residuals_at(tried, 1.0) == Values{-3.0});
}

TEST_CASE("a size without effect is at no bound", "[unit]") {
  const auto fit = fit_size({1.0, 4.0}, [](double) { return Values{0.5}; }, {0.02});
  REQUIRE(fit);
  CHECK(fit->residuals == Values{0.5});
  CHECK_FALSE(fit->at_bound);
}

TEST_CASE("where no size runs there is no fit", "[unit]") {
  CHECK_FALSE(fit_size({1.0, 4.0}, [](double) { return std::nullopt; }, {0.02}));
}

}  // namespace
}  // namespace stepcast::size_fit_test
