// SPDX-License-Identifier: Apache-2.0
#include "stepcast/cost/price_slopes.hpp"

#include <algorithm>
#include <cmath>
#include <list>
#include <numeric>
#include <utility>

#include "stepcast/base/sum.hpp"

namespace stepcast {
namespace {

constexpr double kMove = 1e-6;    // of a number
constexpr double kSpread = 0.37;  // more of it for the next number that is moved at the same time
constexpr double kStill = 1e-13;  // of a price, that rounding moves at most
constexpr std::size_t kMostGroups = 8;  // of numbers, that are tried for an operator
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
  SlopeSearch(std::span<const std::size_t> kinds, const PriceOf& price,
              std::span<const PlacedNumber> numbers)
      : kinds_(kinds), price_(price), numbers_(numbers), found_(kinds.size()) {
    for (const PlacedNumber& number : numbers_) {
      values_.push_back(number.value());
    }
    for (std::size_t op = 0; op < kinds.size(); ++op) {
      found_[op].cost = price_(op, 1.0);
      found_[op].clock = slope_between(0, found_[op].cost, price_(op, 1.0 + kMove));
    }
  }

  std::vector<SlopedPrice> run() {
    Places all(numbers_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    for (std::size_t op = 0; op < found_.size(); ++op) {
      if (const Places* alike = numbers_of_one_alike(op)) {
        for (const std::size_t place : *alike) {
          search(op, {&place, 1});
        }
      } else {
        search(op, all);
        remember_numbers(op);
      }
    }
    return std::move(found_);
  }

 private:
  using Places = std::vector<std::size_t>;  // of numbers, in their order

  // Finds the slopes of an operator over the numbers at `places`.
  void search(std::size_t op, std::span<const std::size_t> places) {
    if (places.empty()) {
      return;
    }
    const OpCost after = price_with(op, places);
    if (!moved(found_[op].cost, after)) {
      return;
    }
    if (places.size() == 1) {
      found_[op].numbers.push_back(slope_between(places.front(), found_[op].cost, after));
      return;
    }
    search(op, places.first(places.size() / 2));
    search(op, places.subspan(places.size() / 2));
  }
  // What an operator before this one follows, if this one follows nothing else.
  const Places* numbers_of_one_alike(std::size_t op) {
    for (Group& group : groups_) {
      if (group.kind == kinds_[op] && !moved(found_[op].cost, price_with(op, group.others))) {
        return &group.followed;
      }
    }
    return nullptr;
  }
  void remember_numbers(std::size_t op) {
    Group group;
    group.kind = kinds_[op];
    for (const PriceSlope& slope : found_[op].numbers) {
      group.followed.push_back(slope.number);
    }
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      if (!std::binary_search(group.followed.begin(), group.followed.end(), i)) {
        group.others.push_back(i);
      }
    }
    groups_.push_front(std::move(group));
    if (groups_.size() > kMostGroups) {
      groups_.pop_back();
    }
  }
  // The price while the numbers at `places` are moved.
  OpCost price_with(std::size_t op, std::span<const std::size_t> places) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      const double more = 1.0 + kSpread * static_cast<double>(i);
      numbers_[places[i]].set(values_[places[i]] * (1.0 + more * kMove));
    }
    OpCost after = price_(op, 1.0);
    for (const std::size_t place : places) {
      numbers_[place].set(values_[place]);
    }
    return after;
  }

  // What operators that were searched follow, and all the other numbers.
  struct Group {
    std::size_t kind = 0;
    Places followed;
    Places others;
  };

  std::span<const std::size_t> kinds_;
  const PriceOf& price_;
  std::span<const PlacedNumber> numbers_;
  std::vector<double> values_;
  std::vector<SlopedPrice> found_;
  std::list<Group> groups_;  // the last one first
};

}  // namespace

Seconds PriceSlope::duration() const { return sum_over(terms); }

std::vector<SlopedPrice> price_slopes(std::span<const std::size_t> kinds, const PriceOf& price,
                                      std::span<const PlacedNumber> numbers) {
  return SlopeSearch(kinds, price, numbers).run();
}

}  // namespace stepcast
