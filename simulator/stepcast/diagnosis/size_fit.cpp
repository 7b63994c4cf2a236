// SPDX-License-Identifier: Apache-2.0
#include "stepcast/diagnosis/size_fit.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

namespace stepcast {
namespace {

using Values = std::vector<double>;

constexpr int kMostTries = 10;
constexpr double kNear = 0.002;  // of the range

double weighted_product(const Values& a, const Values& b, const Values& sigmas) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += a[i] * b[i] / (sigmas[i] * sigmas[i]);
  }
  return sum;
}

Values difference(const Values& a, const Values& b) {
  Values values = a;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] -= b[i];
  }
  return values;
}

// Residuals by share of the range.
using Tried = std::map<double, Values>;

// The least of the sum along the straight line between two neighbours.
struct Least {
  double share = 0.0;
  double sum = 0.0;
  Tried::const_iterator left;  // the neighbours, the same where it lies on one
  Tried::const_iterator right;
};

Least least_between(Tried::const_iterator left, Tried::const_iterator right, const Values& sigmas) {
  const Values step = difference(right->second, left->second);
  const double square = weighted_product(step, step, sigmas);
  const double along = weighted_product(left->second, step, sigmas);
  const double part = square > 0.0 ? std::clamp(-along / square, 0.0, 1.0) : 0.0;
  const double start = weighted_product(left->second, left->second, sigmas);
  return {left->first + part * (right->first - left->first),
          start + 2.0 * part * along + part * part * square, left, right};
}

Least least_of(const Tried& tried, const Values& sigmas) {
  Least best = least_between(tried.begin(), tried.begin(), sigmas);
  for (auto left = tried.begin(); std::next(left) != tried.end(); ++left) {
    const Least here = least_between(left, std::next(left), sigmas);
    if (here.sum < best.sum) {
      best = here;
    }
  }
  return best;
}

// Where to try next: the least, but a tenth of the gap away from its ends, so that the gap closes
// from both sides.
double next_share(const Least& least) {
  constexpr double kKept = 0.1;
  const double gap = least.right->first - least.left->first;
  return std::clamp(least.share, least.left->first + kKept * gap, least.right->first - kKept * gap);
}

double largest_step(const Values& step) {
  double largest = 0.0;
  for (const double value : step) {
    largest = std::max(largest, std::abs(value));
  }
  return largest;
}

class Search {
 public:
  Search(const SizeRange& range, const Residuals& residuals, const Values& sigmas)
      : range_(range), residuals_(residuals), sigmas_(sigmas) {}

  std::optional<SizeFit> fit() {
    for (const double share : {0.0, 1.0, 0.5}) {
      add(share);
    }
    if (tried_.empty()) {
      return std::nullopt;
    }
    for (int tries = 0; tries < kMostTries && !closed(); ++tries) {
      const double share = next_share(least_of(tried_, sigmas_));
      if (!add(share)) {
        break;
      }
    }
    return found();
  }

 private:
  bool add(double share) {
    std::optional<Values> values = residuals_(range_.at(share));
    if (values) {
      tried_.emplace(share, std::move(*values));
    }
    return values.has_value();
  }

  // Whether the least is known as well as it need be: its gap is small, or nothing moves in it.
  [[nodiscard]] bool closed() const {
    constexpr double kStill = 5e-4;  // of a figure
    const Least least = least_of(tried_, sigmas_);
    const bool on_end = least.share == least.left->first || least.share == least.right->first;
    const double step = largest_step(difference(least.right->second, least.left->second));
    return least.left == least.right || least.right->first - least.left->first < kNear ||
           step < kStill || (on_end && (least.share == 0.0 || least.share == 1.0));
  }

  [[nodiscard]] SizeFit found() const {
    constexpr double kLeft = 0.01;  // of a figure
    const double share = least_of(tried_, sigmas_).share;
    const Values all = difference(tried_.rbegin()->second, tried_.begin()->second);
    SizeFit fit{range_.at(share), residuals_at(tried_, share), tried_, false};
    fit.at_bound = share == 1.0 && largest_step(fit.residuals) > kLeft &&
                   weighted_product(fit.residuals, all, sigmas_) < 0.0;
    return fit;
  }

  const SizeRange& range_;
  const Residuals& residuals_;
  const Values& sigmas_;
  Tried tried_;
};

}  // namespace

double SizeRange::share(double size) const { return std::log(size / none) / std::log(most / none); }

double SizeRange::at(double share) const { return none * std::pow(most / none, share); }

Values residuals_at(const Tried& tried, double share) {
  const auto right = tried.lower_bound(share);
  if (right == tried.begin()) {
    return right->second;
  }
  const auto left = std::prev(right);
  if (right == tried.end()) {
    return left->second;
  }
  const double part = (share - left->first) / (right->first - left->first);
  const Values step = difference(right->second, left->second);
  Values residuals = left->second;
  for (std::size_t i = 0; i < step.size(); ++i) {
    residuals[i] += part * step[i];
  }
  return residuals;
}

std::optional<SizeFit> fit_size(const SizeRange& range, const Residuals& residuals,
                                const std::vector<double>& sigmas) {
  return Search(range, residuals, sigmas).fit();
}

}  // namespace stepcast
