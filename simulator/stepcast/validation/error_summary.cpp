// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/error_summary.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "stepcast/base/sum.hpp"

namespace stepcast {
namespace {

// Ranks from 1; equal values share the mean of their ranks.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t place) { return values[place]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last < order.size() && values[order[last]] == values[order[first]]) {
      ++last;
    }
    const double shared = 0.5 * static_cast<double>(first + 1 + last);
    for (std::size_t i = first; i < last; ++i) {
      ranks[order[i]] = shared;
    }
    first = last;
  }
  return ranks;
}

double mean(const std::vector<double>& values) {
  return values.empty() ? 0.0 : sum_over(values) / static_cast<double>(values.size());
}

std::optional<ConstantRate> constant_rate(const std::vector<const ValidationRow*>& rows) {
  std::vector<double> ratios;
  for (const ValidationRow* row : rows) {
    if (row->predicted && row->at_unit_rate) {
      ratios.push_back(row->measured / *row->at_unit_rate);
    }
  }
  if (ratios.empty()) {
    return std::nullopt;
  }
  const double constant = quantile(ratios, 0.5);
  std::vector<double> magnitudes;
  magnitudes.reserve(ratios.size());
  for (const double ratio : ratios) {
    magnitudes.push_back(std::abs(constant / ratio - 1.0));
  }
  return ConstantRate{mean(magnitudes), quantile(magnitudes, 0.5), quantile(magnitudes, 0.9)};
}

std::optional<FitRates> fit_rates(const std::vector<const ValidationRow*>& rows) {
  const auto share_right = [&rows](bool fits) -> std::optional<double> {
    double all = 0.0;
    double right = 0.0;
    for (const ValidationRow* row : rows) {
      if (row->predicted && (row->measured > 0.5) == fits) {
        all += 1.0;
        right += (*row->predicted > 0.5) == fits ? 1.0 : 0.0;
      }
    }
    return all > 0.0 ? std::optional(right / all) : std::nullopt;
  };
  return FitRates{share_right(true), share_right(false)};
}

ErrorSummary summary_of(const std::vector<const ValidationRow*>& rows) {
  ErrorSummary summary;
  std::vector<double> errors;
  std::vector<double> magnitudes;
  std::vector<double> predicted;
  std::vector<double> measured;
  for (const ValidationRow* row : rows) {
    if (!row->predicted) {
      ++summary.skipped;
      continue;
    }
    errors.push_back(row->error());
    magnitudes.push_back(std::abs(row->error()));
    predicted.push_back(*row->predicted);
    measured.push_back(row->measured);
  }
  summary.count = errors.size();
  summary.mean_abs_error = mean(magnitudes);
  summary.median_abs_error = quantile(magnitudes, 0.5);
  summary.p90_abs_error = quantile(magnitudes, 0.9);
  summary.bias = mean(errors);
  const auto share_within = [&](double limit) {
    const auto inside = std::ranges::count_if(magnitudes, [limit](double e) { return e <= limit; });
    return magnitudes.empty()
               ? 0.0
               : static_cast<double>(inside) / static_cast<double>(magnitudes.size());
  };
  summary.within_10 = share_within(0.10);
  summary.within_20 = share_within(0.20);
  summary.spearman = spearman(predicted, measured);
  return summary;
}

// --- intervals ----------------------------------------------------------------------------------

struct CoverageGroup {
  const char* title;
  bool (*holds)(const ValidationRow&);
};

bool is_of(const ValidationRow& row, AccuracyFamily family) {
  return row.held_out.value_or(false) && row.traits->family == family;
}

bool is_held_out_of(const ValidationRow& row, Stack stack) {
  return row.held_out.value_or(false) && row.traits->stack == stack;
}

bool is_on_known_gpu(const ValidationRow& row) {
  return row.expected_error->distribution->between_gpus == 0.0;
}

constexpr std::array kCoverageGroups = {
    CoverageGroup{"dense, GPU of other sources too",
                  [](const ValidationRow& row) {
                    return is_of(row, AccuracyFamily::kDense) && is_on_known_gpu(row);
                  }},
    CoverageGroup{"dense, GPU of no other source",
                  [](const ValidationRow& row) {
                    return is_of(row, AccuracyFamily::kDense) && !is_on_known_gpu(row);
                  }},
    CoverageGroup{"moe", [](const ValidationRow& row) { return is_of(row, AccuracyFamily::kMoe); }},
    CoverageGroup{"mla", [](const ValidationRow& row) { return is_of(row, AccuracyFamily::kMla); }},
    CoverageGroup{"tuned by its makers",
                  [](const ValidationRow& row) { return is_held_out_of(row, Stack::kTuned); }},
    CoverageGroup{"as it comes to users",
                  [](const ValidationRow& row) { return is_held_out_of(row, Stack::kAsItComes); }},
    CoverageGroup{"all", [](const ValidationRow& row) { return row.held_out.value_or(false); }},
    CoverageGroup{"all, fitted ones too", [](const ValidationRow&) { return true; }}};

// `outside`: how many of all runs the interval leaves outside on purpose.
double interval_score(const RateInterval& interval, double outside, double factor) {
  const double missed = std::max({interval.low - factor, factor - interval.high, 0.0});
  return interval.high - interval.low + 2.0 / outside * missed;
}

IntervalCoverage coverage_of(const char* title, const std::vector<const ValidationRow*>& rows) {
  IntervalCoverage coverage{.group = title, .runs = rows.size()};
  std::set<std::string> sources;
  std::vector<double> widths;
  const double share = 1.0 / static_cast<double>(rows.size());
  for (const ValidationRow* row : rows) {
    const ErrorDistribution& error = *row->expected_error->distribution;
    const RateInterval of_80 = error.interval(Certainty::k80);
    sources.insert(row->traits->source);
    widths.push_back(of_80.half_width());
    coverage.inside_80 += of_80.holds(row->rate_factor()) ? share : 0.0;
    const RateInterval of_90 = error.interval(Certainty::k90);
    coverage.inside_90 += of_90.holds(row->rate_factor()) ? share : 0.0;
    coverage.score_80 += share * interval_score(of_80, 0.2, row->rate_factor());
    coverage.score_90 += share * interval_score(of_90, 0.1, row->rate_factor());
  }
  coverage.sources = sources.size();
  coverage.half_width_80 = quantile(widths, 0.5);
  return coverage;
}

}  // namespace

double spearman(const std::vector<double>& a, const std::vector<double>& b) {
  constexpr std::size_t kFewest = 3;
  if (a.size() < kFewest || a.size() != b.size()) {
    return 0.0;
  }
  const std::vector<double> ra = ranks_of(a);
  const std::vector<double> rb = ranks_of(b);
  const double ma = mean(ra);
  const double mb = mean(rb);
  double covariance = 0.0;
  double va = 0.0;
  double vb = 0.0;
  for (std::size_t i = 0; i < ra.size(); ++i) {
    covariance += (ra[i] - ma) * (rb[i] - mb);
    va += (ra[i] - ma) * (ra[i] - ma);
    vb += (rb[i] - mb) * (rb[i] - mb);
  }
  return va > 0.0 && vb > 0.0 ? covariance / std::sqrt(va * vb) : 0.0;
}

std::vector<ErrorSummary> summarize(const std::vector<ValidationRow>& rows) {
  using Key = std::tuple<std::string, std::string, std::string>;
  std::vector<Key> order;
  std::vector<Key> totals;
  std::map<Key, std::vector<const ValidationRow*>> groups;
  const auto add = [&groups](std::vector<Key>& keys, Key key, const ValidationRow& row) {
    auto& members = groups[key];
    if (members.empty()) {
      keys.push_back(std::move(key));
    }
    members.push_back(&row);
  };
  for (const ValidationRow& row : rows) {
    add(order, {row.file, row.group, row.metric_text()}, row);
    if (row.metric != Metric::kFits) {  // its error is no share of what was measured
      add(totals, {row.file, "all", "all"}, row);
    }
  }
  order.insert(order.end(), totals.begin(), totals.end());
  std::vector<ErrorSummary> summaries;
  for (const Key& key : order) {
    ErrorSummary summary = summary_of(groups[key]);
    std::tie(summary.file, summary.group, summary.metric) = key;
    if (summary.group != "all") {  // one constant is for one metric
      summary.constant_rate = constant_rate(groups[key]);
    }
    if (groups[key].front()->metric == Metric::kFits) {  // which no total holds
      summary.fits = fit_rates(groups[key]);
    }
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

std::vector<const ValidationRow*> timed_once(const std::vector<ValidationRow>& rows) {
  std::vector<const ValidationRow*> runs;
  std::pair<std::string, std::string> last;  // a run's rate and its step time are one measurement
  for (const ValidationRow& row : rows) {
    if (row.predicted && row.traits && last != std::pair(row.file, row.id)) {
      last = {row.file, row.id};
      runs.push_back(&row);
    }
  }
  return runs;
}

std::vector<IntervalCoverage> interval_coverage(const std::vector<ValidationRow>& rows) {
  std::vector<IntervalCoverage> groups;
  for (const CoverageGroup& group : kCoverageGroups) {
    std::vector<const ValidationRow*> own;
    for (const ValidationRow* row : timed_once(rows)) {
      if (row->expected_error && row->expected_error->distribution && group.holds(*row)) {
        own.push_back(row);
      }
    }
    if (!own.empty()) {
      groups.push_back(coverage_of(group.title, own));
    }
  }
  return groups;
}

std::vector<ToldOdds> told_odds(const std::vector<ValidationRow>& rows) {
  constexpr std::array kBounds = {0.0, 0.1, 0.2, 0.5, 0.8, 0.9, 0.95, 0.98, 1.0};
  std::vector<ToldOdds> bins;
  for (std::size_t i = 0; i + 1 < kBounds.size(); ++i) {
    ToldOdds bin{.from = kBounds[i], .to = kBounds[i + 1]};
    double told = 0.0;
    double ran = 0.0;
    for (const ValidationRow& row : rows) {
      const double odds = row.odds.value_or(-1.0);
      if (odds >= bin.from && (odds < bin.to || (bin.to == 1.0 && odds == 1.0))) {
        ++bin.runs;
        told += odds;
        ran += row.measured;
      }
    }
    if (bin.runs > 0) {
      bin.told = told / static_cast<double>(bin.runs);
      bin.ran = ran / static_cast<double>(bin.runs);
      bins.push_back(bin);
    }
  }
  return bins;
}

}  // namespace stepcast
