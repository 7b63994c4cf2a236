// SPDX-License-Identifier: Apache-2.0
// A measured quantity beside its prediction, or the reason why there is none.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/enum_names.hpp"
#include "stepcast/result/expected_error.hpp"
#include "stepcast/result/metric.hpp"
#include "stepcast/result/published_run.hpp"

namespace stepcast {

struct ValidationRow {
  std::string file;
  std::string id;
  std::string gpu;
  std::string group;  // "h100_sxm dense A"
  Metric metric = Metric::kTokenRate;
  std::string part;  // of a traced step, the category that a time is of
  double measured = 0.0;
  std::optional<double> predicted;
  std::string skipped;         // why there is no prediction
  std::optional<double> odds;  // of `fits`: how sure the run was told to be not to run out

  // Of whole runs; of their rates and times of a step also what they have in common with others,
  // and the error to expect of them, from runs of other sources than their own.
  std::optional<RunTraits> traits;
  std::optional<PublishedRun> published;
  std::optional<ExpectedError> expected_error;
  std::string family;            // dense, moe or mla
  std::optional<bool> held_out;  // empty for operators whose record says nothing of it
  // The metric of a GPU that does one model FLOP a second, for rates and times of steps: a single
  // constant times this is the simplest model there is.
  std::optional<double> at_unit_rate;

  // predicted / measured - 1; of yes and no (`fits`) predicted - measured
  [[nodiscard]] double error() const {
    return metric == Metric::kFits ? *predicted - measured : *predicted / measured - 1.0;
  }
  // Measured tokens/s over predicted ones, of a rate or of the time of a step.
  [[nodiscard]] double rate_factor() const {
    return metric == Metric::kStepTime ? *predicted / measured : measured / *predicted;
  }
  // As reports write it, "step_time_s" or "category_s:gemm".
  [[nodiscard]] std::string metric_text() const {
    return std::string(key_of(metric)) + (part.empty() ? "" : ":" + part);
  }
};

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

// Runs of which is known whether they ran, by how sure to run they were told.
struct ToldOdds {
  double from = 0.0;
  double to = 1.0;  // and less, but for the last
  std::size_t runs = 0;
  double told = 0.0;  // the mean
  double ran = 0.0;   // the share that did
};

// How many measured runs of a group lie inside the intervals that are stated of them.
struct IntervalCoverage {
  std::string group;
  std::size_t runs = 0;
  std::size_t sources = 0;
  double inside_80 = 0.0;  // shares of the runs
  double inside_90 = 0.0;
  double half_width_80 = 0.0;  // median, of the predicted tokens/s
  // Mean interval score (Gneiting and Raftery 2007, section 6.2) in shares of the prediction: the
  // width, and 2 / alpha times what lies outside; smaller is better.
  double score_80 = 0.0;
  double score_90 = 0.0;
};

// By what runs are put together on the page of accuracy.
enum class AccuracyAxis { kAll, kStack, kSource, kGpu, kFamily, kSoftware, kDtype };
template <>
inline constexpr std::array<std::string_view, 7> kNamesOf<AccuracyAxis> = {
    "all", "population", "source", "gpu", "family", "software", "dtype"};

// Measured runs that have one thing in common: each once, by its rate or the time of its step.
struct AccuracyGroup {
  AccuracyAxis axis = AccuracyAxis::kAll;
  std::string name;  // "h100_sxm"
  std::size_t runs = 0;
  std::size_t sources = 0;
  double median_abs_error = 0.0;  // of tokens/s
  double bias = 0.0;              // the mean of predicted / measured - 1 of tokens/s
  // Shares of the runs inside the intervals that are stated of them; empty where none is.
  std::optional<double> inside_80 = std::nullopt;
  std::optional<double> inside_90 = std::nullopt;
  std::optional<double> median_before = std::nullopt;  // of the same group in an earlier report
};

}  // namespace stepcast
