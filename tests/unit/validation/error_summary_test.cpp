// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/error_summary.hpp"

#include "catch.hpp"

namespace stepcast::error_summary_test {

namespace {

ValidationRow row(double measured, std::optional<double> predicted) {
  ValidationRow result;
  result.file = "f";
  result.group = "g";
  result.measured = measured;
  result.predicted = predicted;
  return result;
}

}  // namespace

TEST_CASE("Quantiles interpolate between sorted values", "[unit]") {
  CHECK(quantile({4, 1, 3, 2}, 0.5) == Approx(2.5));
  CHECK(quantile({1, 2, 3, 4, 5}, 0.9) == Approx(4.6));  // position 0.9 * 4 = 3.6
  CHECK(quantile({}, 0.5) == 0.0);
}

TEST_CASE("Rank correlation is 1 for any growing series and shares ranks of ties", "[unit]") {
  CHECK(spearman({1, 2, 3, 4}, {10, 100, 1000, 10000}) == Approx(1.0));
  CHECK(spearman({1, 2, 3, 4}, {4, 3, 2, 1}) == Approx(-1.0));
  // Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: covariance 4.5, variances 4.5 and 5.
  CHECK(spearman({1, 2, 2, 3}, {1, 2, 3, 4}) == Approx(4.5 / std::sqrt(4.5 * 5.0)));
  CHECK(spearman({1, 2}, {1, 2}) == 0.0);
}

TEST_CASE("A summary counts predicted and skipped rows apart", "[unit]") {
  const std::vector<ErrorSummary> summaries =
      summarize({row(100, 109), row(100, 80), row(100, std::nullopt), row(100, 100)});
  REQUIRE(summaries.size() == 2);  // the group, and all of the file
  const ErrorSummary& s = summaries.front();
  CHECK(s.count == 3);
  CHECK(s.skipped == 1);
  CHECK(s.mean_abs_error == Approx(0.29 / 3.0));  // (0.09 + 0.2 + 0) / 3
  CHECK(s.median_abs_error == Approx(0.09));
  CHECK(s.bias == Approx(-0.11 / 3.0));
  CHECK(s.within_10 == Approx(2.0 / 3.0));
  CHECK(s.within_20 == Approx(1.0));
  CHECK(summaries.back().group == "all");
}

TEST_CASE("One rate for every run is the median of theirs", "[unit]") {
  // Rates 100, 110 and 200 a unit: the constant 110 errs by 0.1, 0 and 0.45.
  std::vector<ValidationRow> rows = {row(100, 100), row(220, 220), row(600, 600)};
  rows[0].at_unit_rate = 1.0;
  rows[1].at_unit_rate = 2.0;
  rows[2].at_unit_rate = 3.0;
  const std::vector<ErrorSummary> summaries = summarize(rows);
  REQUIRE(summaries.front().constant_rate);
  CHECK(summaries.front().constant_rate->mean_abs_error == Approx((0.1 + 0.0 + 0.45) / 3.0));
  CHECK(summaries.front().constant_rate->median_abs_error == Approx(0.1));
  CHECK_FALSE(summaries.back().constant_rate);
  CHECK_FALSE(summarize({row(1, 1)}).front().constant_rate);
}

TEST_CASE("Whether runs fit is judged by class, and is no part of a file's error", "[unit]") {
  // Of four that fit three are right, of two that do not one.
  std::vector<ValidationRow> rows = {row(1, 1), row(1, 1), row(1, 1),
                                     row(1, 0), row(0, 0), row(0, 1)};
  for (ValidationRow& fit : rows) {
    fit.metric = Metric::kFits;
  }
  rows.push_back(row(100, 110));
  const std::vector<ErrorSummary> summaries = summarize(rows);
  REQUIRE(summaries.front().fits);
  CHECK(summaries.front().fits->fitting.value() == Approx(0.75));
  CHECK(summaries.front().fits->not_fitting.value() == Approx(0.5));
  CHECK(summaries.front().fits->balanced_accuracy() == Approx(0.625));
  CHECK(summaries.front().mean_abs_error == Approx(2.0 / 6.0));
  CHECK(summaries.back().group == "all");
  CHECK(summaries.back().count == 1);
  // Without runs that do not fit, the four that do say it all.
  rows.erase(rows.begin() + 4, rows.end());
  const ErrorSummary fitting = summarize(rows).front();
  REQUIRE(fitting.fits);
  CHECK_FALSE(fitting.fits->not_fitting);
  CHECK(fitting.fits->balanced_accuracy() == Approx(0.75));
}

}  // namespace stepcast::error_summary_test
