// SPDX-License-Identifier: Apache-2.0
#include "stepcast/cost/price_slopes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace stepcast {
namespace {

constexpr double kMove = 1e-6;    // of a number
constexpr double kSpread = 0.37;  // more of it for the next number that is moved at the same time
constexpr double kStill = 1e-13;  // of a price, that rounding moves at most
// A price that changes by more times as much as the number does not follow it: the model chose
// another kernel, of the same price but of other terms.
constexpr double kSteepest = 100.0;

std::vector<Seconds> terms_of(const OpCost& cost) {
  if (cost.terms.empty()) {
    return {cost.duration};
  }
  std::vector<Seconds> terms;
  terms.reserve(cost.terms.size());
  for (const CostTerm& term : cost.terms) {
    terms.push_back(term.duration);
  }
  return terms;
}

bool moved(const OpCost& before, const OpCost& after) {
  const auto differs = [](double a, double b, double whole) {
    return std::abs(a - b) > kStill * whole;
  };
  const std::vector<Seconds> a = terms_of(before);
  const std::vector<Seconds> b = terms_of(after);
  bool terms = a.size() != b.size();
  for (std::size_t i = 0; !terms && i < a.size(); ++i) {
    terms = differs(a[i].value(), b[i].value(), before.duration.value());
  }
  return terms || differs(before.energy.value(), after.energy.value(), before.energy.value());
}

// Where the model chose something else its terms cannot be compared: the change of the whole is
// that of every term in proportion.
PriceSlope slope_between(std::size_t number, const OpCost& before, const OpCost& after) {
  const double scale = 1.0 / kMove;
  const std::vector<Seconds> a = terms_of(before);
  const std::vector<Seconds> b = terms_of(after);
  PriceSlope slope{number, {}, scale * (after.energy - before.energy)};
  bool alike = a.size() == b.size();
  for (std::size_t i = 0; alike && i < a.size(); ++i) {
    slope.terms.push_back(scale * (b[i] - a[i]));
    alike = std::abs(slope.terms.back().value()) <= kSteepest * before.duration.value();
  }
  if (!alike) {
    const double whole =
        before.duration > Seconds{} ? (after.duration - before.duration) / before.duration : 0.0;
    slope.terms.clear();
    for (const Seconds term : a) {
      slope.terms.push_back(scale * whole * term);
    }
  }
  return slope;
}

class SlopeSearch {
 public:
  SlopeSearch(std::size_t operators, const PriceOf& price, std::span<const PlacedNumber> numbers)
      : price_(price), numbers_(numbers), found_(operators) {
    for (std::size_t op = 0; op < operators; ++op) {
      found_[op].cost = price_(op, 1.0);
      found_[op].clock = slope_between(0, found_[op].cost, price_(op, 1.0 + kMove));
    }
  }

  std::vector<SlopedPrice> run() {
    std::vector<std::size_t> all(found_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    search(0, numbers_.size(), all);
    return std::move(found_);
  }

 private:
  // Finds the slopes of `operators` over the numbers from `first` to before `end`.
  void search(std::size_t first, std::size_t end, const std::vector<std::size_t>& operators) {
    if (first == end || operators.empty()) {
      return;
    }
    const std::vector<double> values = move(first, end);
    std::vector<std::size_t> followers;
    for (const std::size_t op : operators) {
      const OpCost after = price_(op, 1.0);
      if (moved(found_[op].cost, after)) {
        followers.push_back(op);
        if (end - first == 1) {
          found_[op].numbers.push_back(slope_between(first, found_[op].cost, after));
        }
      }
    }
    restore(first, values);
    if (end - first > 1) {
      const std::size_t middle = first + (end - first) / 2;
      search(first, middle, followers);
      search(middle, end, followers);
    }
  }
  // The values before.
  std::vector<double> move(std::size_t first, std::size_t end) {
    std::vector<double> values;
    for (std::size_t i = first; i < end; ++i) {
      values.push_back(numbers_[i].value());
      const double more = 1.0 + kSpread * static_cast<double>(i - first);
      numbers_[i].set(values.back() * (1.0 + more * kMove));
    }
    return values;
  }
  void restore(std::size_t first, const std::vector<double>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      numbers_[first + i].set(values[i]);
    }
  }

  const PriceOf& price_;
  std::span<const PlacedNumber> numbers_;
  std::vector<SlopedPrice> found_;
};

}  // namespace

Seconds PriceSlope::duration() const {
  return std::accumulate(terms.begin(), terms.end(), Seconds{});
}

std::vector<SlopedPrice> price_slopes(std::size_t operators, const PriceOf& price,
                                      std::span<const PlacedNumber> numbers) {
  return SlopeSearch(operators, price, numbers).run();
}

}  // namespace stepcast
