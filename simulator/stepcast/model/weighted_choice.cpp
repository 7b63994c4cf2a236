// SPDX-License-Identifier: Apache-2.0
#include "stepcast/model/weighted_choice.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include "stepcast/base/real.hpp"
#include "stepcast/base/sum.hpp"

namespace stepcast {
namespace {

// A plan needs one or two: what is kept of a sweep stays small.
constexpr std::size_t kMostEntries = 32;

constexpr std::size_t kTimes = DrawHistory::kTimes;
constexpr double kMostIncluded = 1 - 1e-9;  // a draw that is certain would have no finite weight
constexpr int kHalvings = 100;

struct Bracket {
  double low = 0.0;
  double high = 0.0;
  [[nodiscard]] double middle() const { return 0.5 * (low + high); }
};

// Where `below` ends to hold. Once no number lies between the ends nothing changes any more.
template <typename Below>
Bracket halved(Bracket bracket, const Below& below) {
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = bracket.middle();
    const bool last = middle == bracket.low || middle == bracket.high;
    (below(middle) ? bracket.low : bracket.high) = middle;
    if (last) {
      break;
    }
  }
  return bracket;
}

double drawn_by(const std::vector<double>& weights, double time) {
  double drawn = 0.0;
  for (const double weight : weights) {
    drawn -= std::expm1(-weight * time);
  }
  return drawn;
}

// When `draws` items are drawn on average.
double time_of_draws(const std::vector<double>& weights, double draws) {
  double high = 1.0;
  while (drawn_by(weights, high) < draws && high < 1e15) {
    high *= 2.0;
  }
  return halved({0.0, high}, [&](double time) { return drawn_by(weights, time) < draws; }).middle();
}

double grid_time(std::size_t index, double end) {
  const double share = static_cast<double>(index) / static_cast<double>(kTimes - 1);
  return end * share * share * share;
}

DrawHistory history_of(const std::vector<double>& weights, std::size_t first, std::size_t last,
                       double end) {
  DrawHistory history;
  for (std::size_t k = 0; k < kTimes; ++k) {
    const double time = grid_time(k, end);
    for (std::size_t i = first; i < last; ++i) {
      const double survives = std::exp(-weights[i] * time);
      history.drawn[k] += 1.0 - survives;
      history.left[k] += weights[i] * survives;
    }
  }
  return history;
}

// P(miss) of a part: at each draw the part has its whole weight and the others what is left.
double missed(const DrawHistory& all, const DrawHistory& part, double draws) {
  const double weight = part.left.front();
  double miss = 1.0;
  std::size_t k = 0;
  for (double before = 0.0; before < draws; before += 1.0) {
    const auto others = [&](std::size_t at) { return all.drawn[at] - part.drawn[at]; };
    while (k + 2 < kTimes && others(k + 1) < before) {
      ++k;
    }
    const double step = others(k + 1) - others(k);
    const double share = step > 0.0 ? std::clamp((before - others(k)) / step, 0.0, 1.0) : 0.0;
    const double left_low = all.left[k] - part.left[k];
    const double left_high = all.left[k + 1] - part.left[k + 1];
    const double left = std::max(0.0, left_low + share * (left_high - left_low));
    miss *= left + weight > 0.0 ? left / (left + weight) : 1.0;
  }
  return miss;
}

// The quantile of the standard normal distribution, by halving: the order of loads needs no more.
double normal_quantile(double share) {
  const auto below = [&](double at) { return 0.5 * std::erfc(-at / std::sqrt(2.0)) < share; };
  return halved({-10.0, 10.0}, below).middle();
}

// Loads of the quantiles at a width of the distribution, smallest first, with a mean of 1.
std::vector<double> log_normal_loads(const std::vector<double>& quantiles, double width) {
  std::vector<double> loads;
  loads.reserve(quantiles.size());
  for (const double quantile : quantiles) {
    loads.push_back(std::exp(width * quantile));
  }
  const double mean = sum_over(loads) / static_cast<double>(std::max<std::size_t>(1, loads.size()));
  for (double& load : loads) {
    load /= mean;
  }
  return loads;
}

// A step coprime to `items` near the golden ratio of them: it spreads a sorted list evenly.
std::int64_t spreading_step(std::int64_t items) {
  auto step = static_cast<std::int64_t>(0.618 * static_cast<double>(items));
  step = std::max<std::int64_t>(1, step);
  while (std::gcd(step, items) != 1) {
    ++step;
  }
  return step;
}

}  // namespace

std::vector<std::int64_t> learned_counts(std::int64_t items, double max_violation) {
  std::vector<double> quantiles;
  quantiles.reserve(static_cast<std::size_t>(items));
  for (std::int64_t i = 0; i < items; ++i) {
    quantiles.push_back(normal_quantile((real(i) + 0.5) / real(items)));
  }
  const auto below = [&](double width) {
    return log_normal_loads(quantiles, width).back() < 1.0 + max_violation;
  };
  const std::vector<double> loads = log_normal_loads(quantiles, halved({0.0, 20.0}, below).low);
  constexpr double kMillion = 1e6;
  std::vector<std::int64_t> counts(loads.size());
  const std::int64_t step = spreading_step(items);
  for (std::int64_t i = 0; i < items; ++i) {
    counts[static_cast<std::size_t>(i * step % items)] =
        std::llround(kMillion * loads[static_cast<std::size_t>(i)]);
  }
  return counts;
}

std::vector<double> zipf_weights(std::int64_t items, double exponent) {
  std::vector<double> weights(static_cast<std::size_t>(items));
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = std::pow(static_cast<double>(i + 1), -exponent);
  }
  return weights;
}

std::vector<double> weights_of_counts(const std::vector<std::int64_t>& counts, std::int64_t draws) {
  const double sum = sum_over(counts, &real);
  std::vector<double> weights;
  weights.reserve(counts.size());
  for (const std::int64_t count : counts) {
    const double included = sum > 0.0 ? real(draws) * real(count) / sum : 0.0;
    weights.push_back(-std::log1p(-std::min(included, kMostIncluded)));
  }
  return weights;
}

std::vector<double> weights_of(const Routing& routing, ExpertChoice choice) {
  switch (routing.kind) {
    case RoutingKind::kZipf:
      return zipf_weights(choice.experts, routing.zipf_exponent);
    case RoutingKind::kLearned:
      return weights_of_counts(learned_counts(choice.experts, routing.max_violation), choice.topk);
    default:
      return weights_of_counts(routing.counts, choice.topk);
  }
}

WeightedChoice::WeightedChoice(std::vector<double> weights, std::int64_t draws)
    : weights_(std::move(weights)), draws_(real(draws)), end_(time_of_draws(weights_, draws_)) {
  included_.reserve(weights_.size());
  for (const double weight : weights_) {
    included_.push_back(-std::expm1(-weight * end_));
  }
}

// With a part for each item or less, items are hit as often as they are drawn.
PartLoads WeightedChoice::fine_parts(std::int64_t parts) const {
  const double largest = *std::max_element(included_.begin(), included_.end());
  const double share = real(std::ssize(included_)) / real(parts);
  return {draws_, largest * share, largest * share};
}

PartLoads WeightedChoice::part_loads(std::int64_t parts) {
  const auto items = static_cast<std::int64_t>(weights_.size());
  if (parts >= items) {
    return fine_parts(parts);
  }
  // Draws among the others end later than those among all.
  const double end = 4.0 * end_;
  if (!all_) {
    all_ = history_of(weights_, 0, weights_.size(), end);
  }
  PartLoads loads{0.0, 0.0, 0.0};
  for (std::int64_t part = 0; part < parts; ++part) {
    const auto first = static_cast<std::size_t>(part * items / parts);
    const auto last = static_cast<std::size_t>((part + 1) * items / parts);
    const DrawHistory own = history_of(weights_, first, last, end);
    const double copies =
        std::accumulate(included_.begin() + static_cast<std::ptrdiff_t>(first),
                        included_.begin() + static_cast<std::ptrdiff_t>(last), 0.0);
    const double hits = std::min(copies, 1.0 - missed(*all_, own, draws_));
    loads.distinct += hits;
    loads.most_hits = std::max(loads.most_hits, hits);
    loads.most_copies = std::max(loads.most_copies, copies);
  }
  return loads;
}

KnownLoads::Entry& KnownLoads::entry(const Routing& routing, ExpertChoice choice) {
  const auto known = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.experts == choice.experts && entry.topk == choice.topk && entry.routing == routing;
  });
  if (known != entries_.end()) {
    return *known;
  }
  if (entries_.size() >= kMostEntries) {
    entries_.pop_front();
  }
  Routing own = routing;
  own.shared = {};  // or it would keep itself alive
  entries_.push_back({std::move(own), choice.experts, choice.topk,
                      WeightedChoice(weights_of(routing, choice), choice.topk)});
  return entries_.back();
}

PartLoads KnownLoads::part_loads(const Routing& routing, ExpertChoice choice, std::int64_t parts) {
  const std::scoped_lock lock(asked_);
  Entry& own = entry(routing, choice);
  const auto known = own.parts.find(parts);
  return known != own.parts.end()
             ? known->second
             : own.parts.emplace(parts, own.choice.part_loads(parts)).first->second;
}

std::vector<double> KnownLoads::included(const Routing& routing, ExpertChoice choice) {
  const std::scoped_lock lock(asked_);
  return entry(routing, choice).choice.included();
}

Routing with_shared_loads(Routing routing) {
  if (is_weighted(routing.kind)) {
    routing.shared.known = std::make_shared<KnownLoads>();
  }
  return routing;
}

}  // namespace stepcast
