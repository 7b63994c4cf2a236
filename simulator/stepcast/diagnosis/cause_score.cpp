// SPDX-License-Identifier: Apache-2.0
#include "stepcast/diagnosis/cause_score.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stepcast/diagnosis/measured_figure.hpp"
#include "stepcast/diagnosis/size_fit.hpp"

namespace stepcast {
namespace {

// a^T Sigma^-1 a of a diagonal and one vector in common (Sherman and Morrison).
double quadratic_form(const FigureErrors& errors, std::span<const double> a) {
  double own = 0.0;
  double shared = 0.0;
  double weight = 1.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double variance = errors.own[i] * errors.own[i];
    const double off = a[i] - errors.usual[i];
    own += off * off / variance;
    shared += errors.common[i] * off / variance;
    weight += errors.common[i] * errors.common[i] / variance;
  }
  return own - shared * shared / weight;
}

}  // namespace

FigureErrors errors_of(const std::vector<MeasuredPoint>& points,
                       const std::optional<ErrorDistribution>& distribution) {
  const double spread = distribution ? distribution->spread : 0.0;
  const double within = distribution ? std::min(distribution->within, spread) : 0.0;
  FigureErrors errors;
  for (const MeasuredPoint& point : points) {
    const bool pace = is_of_pace(point.measured.metric);
    errors.own.push_back(std::hypot(kMeasuredNoise, pace ? within : kMemoryError));
    errors.usual.push_back(pace && distribution ? -distribution->centre : 0.0);
    errors.common.push_back(pace ? std::sqrt(spread * spread - within * within) : 0.0);
  }
  return errors;
}

double chi_squared(const FigureErrors& errors, std::span<const double> residuals) {
  return quadratic_form(errors, residuals);
}

double log_evidence(const FigureErrors& errors, std::span<const double> residuals) {
  return -0.5 * chi_squared(errors, residuals);
}

double log_evidence(const FigureErrors& errors,
                    const std::map<double, std::vector<double>>& tried) {
  constexpr int kParts = 1000;  // of which the middles are summed
  std::vector<double> logarithms;
  logarithms.reserve(kParts);
  for (int i = 0; i < kParts; ++i) {
    logarithms.push_back(log_evidence(errors, residuals_at(tried, (i + 0.5) / kParts)));
  }
  const double largest = std::ranges::max(logarithms);
  double sum = 0.0;
  for (const double value : logarithms) {
    sum += std::exp(value - largest);
  }
  return largest + std::log(sum / kParts);
}

std::vector<double> normalised(const std::vector<double>& logarithms) {
  if (logarithms.empty()) {
    return {};
  }
  const double largest = std::ranges::max(logarithms);
  std::vector<double> shares;
  shares.reserve(logarithms.size());
  for (const double value : logarithms) {
    shares.push_back(std::exp(value - largest));
  }
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) {
    share /= sum;
  }
  return shares;
}

}  // namespace stepcast
