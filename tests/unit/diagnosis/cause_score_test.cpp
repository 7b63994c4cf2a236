// SPDX-License-Identifier: Apache-2.0
#include "stepcast/diagnosis/cause_score.hpp"

#include <cmath>
#include <numbers>

#include "catch.hpp"
#include "stepcast/diagnosis/cause_info.hpp"

namespace stepcast::cause_score_test {
namespace {

using Values = std::vector<double>;

TEST_CASE("chi squared of independent figures is the sum of squares of their errors", "[unit]") {
  const FigureErrors errors{{0.02, 0.04}, {0.0, 0.0}, {0.0, 0.0}};
  CHECK(chi_squared(errors, Values{0.04, 0.04}) == Approx(4.0 + 1.0));
}

// Two figures that are both off by 0.1, with 0.02 of their own and 0.1 in common:
// 2 * 25 - (2 * 25)^2 / (2 * 25 + 1) = 50 / 51; off in opposite ways nothing is in common: 50.
TEST_CASE("what all figures have in common explains that all are off alike", "[unit]") {
  const FigureErrors errors{{0.02, 0.02}, {0.1, 0.1}, {0.0, 0.0}};
  CHECK(chi_squared(errors, Values{0.1, 0.1}) == Approx(50.0 / 51.0));
  CHECK(chi_squared(errors, Values{0.1, -0.1}) == Approx(50.0));
}

TEST_CASE("what runs are off on average is nothing to explain", "[unit]") {
  const FigureErrors errors{{0.02}, {0.0}, {0.1}};
  CHECK(chi_squared(errors, Values{0.1}) == 0.0);
  CHECK(chi_squared(errors, Values{0.14}) == Approx(4.0));
}

// A form without a size that is met has an evidence of 1, ln 0. Of one whose whole range moves the
// figure by 2, from 1 too slow to 1 too fast, 2 % leave sqrt(2 pi) 0.02 / 2 of the range.
TEST_CASE("a size that had to be just so counts less", "[unit]") {
  const FigureErrors errors{{0.02}, {0.0}, {0.0}};
  CHECK(log_evidence(errors, Values{0.0}) == 0.0);
  CHECK(log_evidence(errors, Values{0.04}) == Approx(-2.0));
  const std::map<double, Values> tried = {{0.0, {1.0}}, {1.0, {-1.0}}};
  CHECK(log_evidence(errors, tried) ==
        Approx(std::log(std::sqrt(2.0 * std::numbers::pi) * 0.01)).epsilon(1e-4));
}

TEST_CASE("a size that does not matter counts as none", "[unit]") {
  const FigureErrors errors{{0.02}, {0.0}, {0.0}};
  const std::map<double, Values> tried = {{0.0, {0.04}}, {1.0, {0.04}}};
  CHECK(log_evidence(errors, tried) == Approx(-2.0));
}

TEST_CASE("scores add up to 1, however unlikely all of them are", "[unit]") {
  const Values scores = normalised({-2000.0, -2000.0 + std::log(3.0)});
  CHECK(scores[0] == Approx(0.25));
  CHECK(scores[1] == Approx(0.75));
  CHECK(normalised({}).empty());
}

TEST_CASE("the errors of a step are noise, its own and those in common; memory's its own",
          "[unit]") {
  ErrorDistribution known;
  known.centre = -0.1;
  known.within = 0.03;
  known.spread = 0.05;
  const FigureErrors errors =
      errors_of({{{}, {Metric::kStepTime, 1.0}}, {{}, {Metric::kPeakMemory, 1e9}}}, known);
  CHECK(errors.own[0] == Approx(std::sqrt(0.02 * 0.02 + 0.03 * 0.03)));
  CHECK(errors.common[0] == Approx(0.04));
  CHECK(errors.own[1] == Approx(std::sqrt(0.02 * 0.02 + 0.15 * 0.15)));
  CHECK(errors.common[1] == 0.0);
  CHECK(errors.usual == Values{0.1, 0.0});
  CHECK(errors_of({{{}, {Metric::kStepTime, 1.0}}}, std::nullopt).own[0] == 0.02);
}

TEST_CASE("every cause has its row, a check and a prior whose source is said", "[unit]") {
  for (std::size_t i = 0; i < names_of<Cause>().size(); ++i) {
    const auto cause = static_cast<Cause>(i);
    CAPTURE(name(cause));
    CHECK(info(cause).cause == cause);
    CHECK_FALSE(info(cause).checks.empty());
    CHECK(info(cause).prior() == 1.0 + static_cast<double>(info(cause).seen_by.size()));
  }
}

}  // namespace
}  // namespace stepcast::cause_score_test
