// SPDX-License-Identifier: Apache-2.0
// Statistics of prediction errors e = predicted / measured - 1 over a group of rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepcast/base/quantile.hpp"
#include "stepcast/validation/validation_row.hpp"

namespace stepcast {

// What one rate for every run, fitted on the same rows, does: measured = c * (metric at one model
// FLOP a second), with c the median over the rows.
struct ConstantRate {
  double mean_abs_error = 0.0;
  double median_abs_error = 0.0;
  double p90_abs_error = 0.0;
};

// Of runs that fit and of runs that do not, the shares that are predicted right, where there are
// such runs; the balanced accuracy is the mean of what there is.
struct FitRates {
  std::optional<double> fitting;
  std::optional<double> not_fitting;

  [[nodiscard]] double balanced_accuracy() const {
    const double of_fitting = fitting.value_or(not_fitting.value_or(0.0));
    return 0.5 * (of_fitting + not_fitting.value_or(of_fitting));
  }
};

struct ErrorSummary {
  std::string file;
  std::string group;
  std::string metric;
  std::size_t count = 0;  // rows with a prediction
  std::size_t skipped = 0;
  double mean_abs_error = 0.0;
  double median_abs_error = 0.0;
  double p90_abs_error = 0.0;
  double bias = 0.0;       // mean of e
  double within_10 = 0.0;  // share of rows with |e| <= 0.10
  double within_20 = 0.0;
  double spearman = 0.0;  // rank correlation of predicted and measured; 0 for fewer than 3 rows
  std::optional<ConstantRate> constant_rate;  // of rates and times of whole steps
  std::optional<FitRates> fits;               // of the metric `fits`
};

// Rank correlation of two series of equal length; ties share their mean rank.
double spearman(const std::vector<double>& a, const std::vector<double>& b);

// One summary a file, group and metric in the order of first appearance, then one a file over all.
std::vector<ErrorSummary> summarize(const std::vector<ValidationRow>& rows);

}  // namespace stepcast
