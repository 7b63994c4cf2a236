// SPDX-License-Identifier: Apache-2.0
#include "stepcast/model/routing.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "stepcast/base/real.hpp"
#include "stepcast/base/sum.hpp"
#include "stepcast/model/weighted_choice.hpp"

namespace stepcast {
namespace {

using Loads = std::vector<std::int64_t>;

// The places of one rank: its own experts, and copies of others.
struct RankPlaces {
  Loads own;
  Loads copies{};
  std::int64_t load = 0;
};

std::vector<RankPlaces> homes(const Loads& loads, std::int64_t ranks) {
  std::vector<RankPlaces> places(static_cast<std::size_t>(ranks));
  const std::size_t local = loads.size() / places.size();
  for (std::size_t i = 0; i < loads.size(); ++i) {
    RankPlaces& home = places[i / local];
    home.own.push_back(loads[i]);
    home.load += loads[i];
  }
  return places;
}

bool lighter(const RankPlaces& left, const RankPlaces& right) { return left.load < right.load; }

// Moves rows from the fullest rank to the emptiest one that has a place; false when there is
// nothing to move.
bool move_rows(std::vector<RankPlaces>& ranks, std::size_t spare, std::int64_t mean) {
  RankPlaces& fullest = *std::max_element(ranks.begin(), ranks.end(), lighter);
  RankPlaces* emptiest = nullptr;
  for (RankPlaces& rank : ranks) {
    const bool free = rank.copies.size() < spare;
    if (free && (emptiest == nullptr || lighter(rank, *emptiest))) {
      emptiest = &rank;
    }
  }
  if (emptiest == nullptr) {
    return false;
  }
  std::int64_t& heaviest = *std::max_element(fullest.own.begin(), fullest.own.end());
  const std::int64_t moved = std::min({heaviest, fullest.load - mean, mean - emptiest->load});
  if (moved <= 0) {
    return false;
  }
  heaviest -= moved;
  fullest.load -= moved;
  emptiest->copies.push_back(moved);
  emptiest->load += moved;
  return true;
}

// All parts alike: P(miss) is the same for each.
PartLoads even_loads(double miss, ExpertChoice choice, double parts) {
  return {parts * (1.0 - miss), 1.0 - miss, real(choice.topk) / parts};
}

double uniform_miss(ExpertChoice choice, double parts) {
  const double experts = real(choice.experts);
  const double own = experts / parts;
  double miss = 1.0;
  for (double i = 0.0; i < real(choice.topk) && miss > 0.0; i += 1.0) {
    miss *= std::max(0.0, experts - own - i) / std::max(1.0, experts - i);
  }
  return miss;
}

// The experts of a token, best first, that avoid a part: probability by the number of groups seen
// so far, and whether the part's own group, if the part lies in one, is among them.
class AvoidingSequences {
 public:
  AvoidingSequences(const Routing& routing, ExpertChoice choice, double parts)
      : groups_(real(routing.groups)),
        allowed_(std::min(real(routing.groups_per_token), groups_)),
        group_(real(choice.experts) / groups_),
        part_(real(choice.experts) / parts),
        own_groups_(std::max(1.0, std::round(part_ / group_))),
        inside_(part_ < group_),
        probability_(static_cast<std::size_t>(allowed_) + 1) {
    probability_[0][0] = 1.0;
  }

  double after(std::int64_t draws) {
    for (std::int64_t draw = 0; draw < draws; ++draw) {
      advance(real(draw));
    }
    const auto either = [](const std::array<double, 2>& seen) { return seen[0] + seen[1]; };
    return std::clamp(sum_over(probability_, either), 0.0, 1.0);
  }

 private:
  void advance(double drawn) {
    std::vector<std::array<double, 2>> next(probability_.size());
    for (std::size_t seen = 0; seen < probability_.size(); ++seen) {
      for (const bool own : {false, true}) {
        const double before = probability_[seen][own ? 1 : 0];
        if (before > 0.0) {
          step(before, drawn, seen, own, next);
        }
      }
    }
    probability_ = std::move(next);
  }

  void step(double before, double drawn, std::size_t seen, bool own,
            std::vector<std::array<double, 2>>& next) const {
    const auto groups = static_cast<double>(seen);
    const bool open = groups < allowed_;
    const double all = std::max(1.0, (open ? groups_ : groups) * group_ - drawn);
    const double in_seen = groups * group_ - drawn - (inside_ && own ? part_ : 0.0);
    next[seen][own ? 1 : 0] += before * std::clamp(in_seen / all, 0.0, 1.0);
    if (!open) {
      return;
    }
    const double avoided = inside_ ? (own ? 0.0 : 1.0) : own_groups_;
    const double others = std::max(0.0, groups_ - groups - avoided) * group_;
    next[seen + 1][own ? 1 : 0] += before * std::clamp(others / all, 0.0, 1.0);
    if (inside_ && !own) {
      next[seen + 1][1] += before * std::clamp((group_ - part_) / all, 0.0, 1.0);
    }
  }

  double groups_;
  double allowed_;
  double group_;       // experts of a group
  double part_;        // experts of a part
  double own_groups_;  // groups of a part that holds whole ones
  bool inside_;        // the part is within one group
  std::vector<std::array<double, 2>> probability_;
};

// Counts the tokens of a rank that reach each part, and their copies there.
PartLoads forced_loads(ExpertChoice choice, std::int64_t parts) {
  const std::int64_t experts = choice.experts;
  const std::int64_t period = experts / std::gcd(experts, choice.topk);
  const std::int64_t tokens = std::clamp<std::int64_t>(choice.tokens, 1, period);
  const std::int64_t holders = std::min(parts, experts);  // ranks beyond share an expert's tokens
  std::vector<double> hits(static_cast<std::size_t>(holders));
  std::vector<double> copies(hits.size());
  // Tokens first to last, each as often as `weight` says: a period repeats itself.
  const auto count = [&](std::int64_t first, std::int64_t last, double weight) {
    for (std::int64_t token = first; token < last; ++token) {
      std::int64_t before = -1;
      for (std::int64_t i = 0; i < std::min(choice.topk, experts); ++i) {
        const std::int64_t part = (token * choice.topk + i) % experts * holders / experts;
        copies[static_cast<std::size_t>(part)] += weight;
        hits[static_cast<std::size_t>(part)] += part == before ? 0.0 : weight;
        before = part;
      }
    }
  };
  const std::int64_t runs = std::max<std::int64_t>(1, choice.tokens / tokens);
  const std::int64_t rest = choice.tokens > tokens ? choice.tokens % tokens : 0;
  count(0, tokens, real(runs));
  count(0, rest, 1.0);
  const double all = real(runs * tokens + rest);
  const double share = real(holders) / real(parts);
  // A token that wraps around may come back to its first part.
  const auto reached = [&](double hit) { return std::min(hit, all); };
  PartLoads loads{0.0, 0.0, 0.0};
  for (std::size_t part = 0; part < hits.size(); ++part) {
    loads.distinct += reached(hits[part]) / all;
    loads.most_hits = std::max(loads.most_hits, reached(hits[part]) / all * share);
    loads.most_copies = std::max(loads.most_copies, copies[part] / all * share);
  }
  return loads;
}

// What the copies of the routing know; of one that shares nothing it is found anew.
template <typename Ask>
auto asked(const Routing& routing, const Ask& ask) {
  if (routing.shared.known) {
    return ask(*routing.shared.known);
  }
  KnownLoads own;
  return ask(own);
}

std::vector<double> included_experts(const Routing& routing, ExpertChoice choice) {
  return asked(routing, [&](KnownLoads& known) { return known.included(routing, choice); });
}

}  // namespace

bool is_weighted(RoutingKind kind) {
  return kind == RoutingKind::kZipf || kind == RoutingKind::kCounts ||
         kind == RoutingKind::kLearned;
}

std::vector<std::int64_t> expected_loads(const Routing& routing, ExpertChoice choice) {
  constexpr double kTokens = 1e9;
  if (!is_weighted(routing.kind)) {
    const auto load = std::llround(kTokens * real(choice.topk) / real(choice.experts));
    Loads even(static_cast<std::size_t>(choice.experts), load);
    return even;
  }
  std::vector<std::int64_t> loads;
  loads.reserve(static_cast<std::size_t>(choice.experts));
  for (const double included : included_experts(routing, choice)) {
    loads.push_back(std::llround(kTokens * included));
  }
  return loads;
}

PartLoads part_loads(const Routing& routing, ExpertChoice choice, std::int64_t parts) {
  const double all = real(parts);
  if (parts <= 1) {
    return {1.0, 1.0, real(choice.topk)};
  }
  switch (routing.kind) {
    case RoutingKind::kUniform:
      return even_loads(uniform_miss(choice, all), choice, all);
    case RoutingKind::kIndependent:
      return even_loads(std::pow(1.0 - 1.0 / all, real(choice.topk)), choice, all);
    case RoutingKind::kGroupLimited:
      return even_loads(AvoidingSequences(routing, choice, all).after(choice.topk), choice, all);
    case RoutingKind::kRoundRobinForced:
      return forced_loads(choice, parts);
    case RoutingKind::kZipf:
    case RoutingKind::kCounts:
    case RoutingKind::kLearned:
      return asked(routing,
                   [&](KnownLoads& known) { return known.part_loads(routing, choice, parts); });
  }
  return {};
}

std::int64_t expert_capacity(std::int64_t all_tokens, std::int64_t topk, std::int64_t experts,
                             double factor) {
  return static_cast<std::int64_t>(
      std::ceil(real(all_tokens) * real(topk) / real(experts) * factor));
}

double kept_share(const Routing& routing, ExpertChoice choice, double capacity_factor) {
  if (!(capacity_factor > 0.0)) {
    return 1.0;
  }
  const double mean = real(choice.topk) / real(choice.experts);
  if (!is_weighted(routing.kind)) {
    return std::min(1.0, capacity_factor);
  }
  const double kept = sum_over(included_experts(routing, choice),
                               [&](double load) { return std::min(load, capacity_factor * mean); });
  return std::min(1.0, kept / real(choice.topk));
}

ExpertLoad expert_load(const Routing& routing, ExpertChoice choice, std::int64_t ranks,
                       double capacity_factor) {
  const double mean_of_rank = real(choice.topk) / real(ranks);
  const double mean_of_expert = real(choice.topk) / real(choice.experts);
  ExpertLoad load;
  load.fullest_rank = part_loads(routing, choice, ranks).most_copies / mean_of_rank;
  load.fullest_expert = part_loads(routing, choice, choice.experts).most_copies / mean_of_expert;
  load.kept = kept_share(routing, choice, capacity_factor);
  return load;
}

std::int64_t padded_rows(std::int64_t rows_of_expert, std::int64_t experts, std::int64_t multiple) {
  const std::int64_t step = std::max<std::int64_t>(1, multiple);
  return experts * ((rows_of_expert + step - 1) / step * step);
}

PlacedExperts place_copies(const Routing& routing, ExpertChoice choice, std::int64_t ranks,
                           std::int64_t spare) {
  PlacedExperts placed{routing, choice.experts, 0};
  if (spare <= 0 || ranks <= 1) {
    return placed;
  }
  const Loads loads = expected_loads(routing, choice);
  std::vector<RankPlaces> places = homes(loads, ranks);
  const std::int64_t mean = sum_over(loads) / ranks;
  while (move_rows(places, static_cast<std::size_t>(spare), mean)) {
  }
  placed.places = choice.experts + ranks * spare;
  placed.routing = Routing{};
  placed.routing.kind = RoutingKind::kCounts;
  placed.routing.shared = routing.shared;
  Loads& counts = placed.routing.counts;
  for (RankPlaces& rank : places) {
    placed.most_copies =
        std::max(placed.most_copies, static_cast<std::int64_t>(rank.copies.size()));
    rank.copies.resize(static_cast<std::size_t>(spare));
    counts.insert(counts.end(), rank.own.begin(), rank.own.end());
    counts.insert(counts.end(), rank.copies.begin(), rank.copies.end());
  }
  return placed;
}

}  // namespace stepcast
