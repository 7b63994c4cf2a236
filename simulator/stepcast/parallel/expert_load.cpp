// SPDX-License-Identifier: Apache-2.0
#include "stepcast/parallel/expert_load.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace stepcast {
namespace {

double number(std::int64_t count) { return static_cast<double>(count); }

// C(all - missed, drawn) / C(all, drawn): none of `missed` is among `drawn` of `all`.
double all_miss(std::int64_t all, std::int64_t missed, std::int64_t drawn) {
  double product = 1.0;
  for (std::int64_t i = 0; i < drawn; ++i) {
    product *= std::max(0.0, number(all - missed - i)) / number(all - i);
  }
  return product;
}

// C(n, k) as a logarithm.
double log_choose(std::int64_t n, std::int64_t k) {
  return std::lgamma(number(n + 1)) - std::lgamma(number(k + 1)) - std::lgamma(number(n - k + 1));
}

// The hypergeometric distribution: `j` of `own` are among `taken` of `all`.
double share_of_draws(std::int64_t all, std::int64_t own, std::int64_t taken, std::int64_t j) {
  if (taken - j > all - own) {
    return 0.0;
  }
  return std::exp(log_choose(own, j) + log_choose(all - own, taken - j) - log_choose(all, taken));
}

double uniform_destinations(const ExpertPlacement& p) {
  return number(p.ranks) * (1.0 - all_miss(p.experts, p.experts / p.ranks, p.topk));
}

// A rank holds part of one group, or several whole ones, of which `j` may be taken.
double group_limited_destinations(const Routing& routing, const ExpertPlacement& p) {
  const std::int64_t in_group = p.experts / routing.groups;
  const std::int64_t taken = routing.groups_per_token;
  const std::int64_t local = p.experts / p.ranks;
  const std::int64_t open = in_group * taken;
  if (local <= in_group) {
    const double group_taken = number(taken) / number(routing.groups);
    return number(p.ranks) * group_taken * (1.0 - all_miss(open, local, p.topk));
  }
  const std::int64_t own = local / in_group;
  double missed = 0.0;
  for (std::int64_t j = 0; j <= std::min(own, taken); ++j) {
    missed += share_of_draws(routing.groups, own, taken, j) * all_miss(open, j * in_group, p.topk);
  }
  return number(p.ranks) * (1.0 - missed);
}

// The pattern of token t repeats after `experts` tokens at the latest.
double round_robin_destinations(const ExpertPlacement& p) {
  const std::int64_t period = std::min(p.tokens, p.experts);
  const std::int64_t local = p.experts / p.ranks;
  std::vector<std::int64_t> seen(static_cast<std::size_t>(p.ranks), -1);
  std::int64_t sum = 0;
  for (std::int64_t token = 0; token < period; ++token) {
    for (std::int64_t i = 0; i < p.topk; ++i) {
      const std::int64_t expert = (token * p.topk + i) % p.experts;
      std::int64_t& last = seen[static_cast<std::size_t>(expert / local)];
      sum += last == token ? 0 : 1;
      last = token;
    }
  }
  return period > 0 ? number(sum) / number(period) : 0.0;
}

double round_robin_imbalance(const ExpertPlacement& p) {
  const std::int64_t rows = p.tokens * p.topk;
  const std::int64_t local = p.experts / p.ranks;
  const std::int64_t most = rows / p.experts * local + std::min(rows % p.experts, local);
  return rows > 0 ? number(most) * number(p.ranks) / number(rows) : 1.0;
}

std::vector<double> popularity(const Routing& routing, const ExpertPlacement& p) {
  std::vector<double> weights;
  if (routing.kind == RoutingKind::kCounts) {
    for (const std::int64_t tokens : routing.counts) {
      weights.push_back(number(tokens));
    }
  } else {
    for (std::int64_t i = 1; i <= p.experts; ++i) {
      weights.push_back(std::pow(number(i), -routing.zipf_exponent));
    }
  }
  return weights;
}

// Probabilities that a token takes each expert: in proportion to its weight, at most 1, in all k.
std::vector<double> taken_with(std::vector<double> weights, std::int64_t topk) {
  std::vector<bool> certain(weights.size(), false);
  std::vector<double> shares(weights.size(), 0.0);
  for (bool changed = true; changed;) {
    changed = false;
    double open = 0.0;
    double left = number(topk);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      open += certain[i] ? 0.0 : weights[i];
      left -= certain[i] ? 1.0 : 0.0;
    }
    for (std::size_t i = 0; i < weights.size(); ++i) {
      shares[i] = certain[i] ? 1.0 : (open > 0.0 ? left * weights[i] / open : 0.0);
      if (!certain[i] && shares[i] > 1.0) {
        certain[i] = true;
        changed = true;
      }
    }
  }
  return shares;
}

// Sums `term(share)` over the experts of each rank.
template <typename Fold>
std::vector<double> by_rank(const std::vector<double>& shares, std::int64_t ranks, double start,
                            const Fold& fold) {
  std::vector<double> sums(static_cast<std::size_t>(ranks), start);
  const std::size_t local = std::max<std::size_t>(1, shares.size() / sums.size());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    double& sum = sums[std::min(i / local, sums.size() - 1)];
    sum = fold(sum, shares[i]);
  }
  return sums;
}

}  // namespace

double expert_imbalance(const Routing& routing, const ExpertPlacement& p) {
  switch (routing.kind) {
    case RoutingKind::kUniform:
    case RoutingKind::kGroupLimited:
      return 1.0;
    case RoutingKind::kRoundRobinForced:
      return round_robin_imbalance(p);
    case RoutingKind::kZipf:
    case RoutingKind::kCounts:
      break;
  }
  // Counts are what happened, so they are not limited to one row a token.
  const std::vector<double> weights = popularity(routing, p);
  const std::vector<double> rows =
      routing.kind == RoutingKind::kCounts ? weights : taken_with(weights, p.topk);
  const std::vector<double> sums =
      by_rank(rows, p.ranks, 0.0, [](double sum, double share) { return sum + share; });
  const double all = std::accumulate(sums.begin(), sums.end(), 0.0);
  return all > 0.0 ? *std::max_element(sums.begin(), sums.end()) * number(p.ranks) / all : 1.0;
}

double destinations(const Routing& routing, const ExpertPlacement& p) {
  switch (routing.kind) {
    case RoutingKind::kUniform:
      return uniform_destinations(p);
    case RoutingKind::kGroupLimited:
      return group_limited_destinations(routing, p);
    case RoutingKind::kRoundRobinForced:
      return round_robin_destinations(p);
    case RoutingKind::kZipf:
    case RoutingKind::kCounts:
      break;
  }
  const std::vector<double> missed =
      by_rank(taken_with(popularity(routing, p), p.topk), p.ranks, 1.0,
              [](double product, double share) { return product * (1.0 - share); });
  double sum = 0.0;
  for (const double none : missed) {
    sum += 1.0 - none;
  }
  return sum;
}

}  // namespace stepcast
