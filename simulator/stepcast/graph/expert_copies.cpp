// SPDX-License-Identifier: Apache-2.0
#include "stepcast/graph/expert_copies.hpp"

#include <algorithm>
#include <numeric>

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

}  // namespace

PlacedExperts place_copies(const Routing& routing, ExpertChoice choice, std::int64_t ranks,
                           std::int64_t spare) {
  PlacedExperts placed{routing, choice.experts, 0};
  if (spare <= 0 || ranks <= 1) {
    return placed;
  }
  const Loads loads = expected_loads(routing, choice);
  std::vector<RankPlaces> places = homes(loads, ranks);
  const std::int64_t mean = std::accumulate(loads.begin(), loads.end(), std::int64_t{0}) / ranks;
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
