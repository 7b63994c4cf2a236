// SPDX-License-Identifier: Apache-2.0
#include "stepcast/model/routing.hpp"

#include <numeric>

#include "catch.hpp"

namespace stepcast::expert_copies_test {
namespace {

Routing counted(std::vector<std::int64_t> counts) {
  Routing routing;
  routing.kind = RoutingKind::kCounts;
  routing.counts = std::move(counts);
  return routing;
}

double fullest_rank(const PlacedExperts& placed, std::int64_t topk, std::int64_t ranks) {
  const PartLoads loads = part_loads(placed.routing, {placed.places, topk, 1}, ranks);
  return loads.most_copies * static_cast<double>(ranks) / static_cast<double>(topk);
}

// Four experts with 4, 2, 1 and 1 of 8 rows on two ranks: 6 and 2, where 4 is the mean.
TEST_CASE("a copy of the heaviest expert takes what is above the mean", "[unit]") {
  const PlacedExperts placed = place_copies(counted({4, 2, 1, 1}), {4, 1, 1}, 2, 1);
  CHECK(placed.places == 6);
  CHECK(placed.most_copies == 1);
  // A thousand million tokens, of which an eighth stands for each row.
  CHECK(placed.routing.counts == std::vector<std::int64_t>{250'000'000, 250'000'000, 0, 125'000'000,
                                                           125'000'000, 250'000'000});
  CHECK(fullest_rank(placed, 1, 2) == Approx(1.0));
}

// One expert has 7 of 10 rows on the first of three ranks: the mean is 10/3, and with one place on
// each of the others both come up to it.
TEST_CASE("rows of one expert go to as many ranks as it takes", "[unit]") {
  const PlacedExperts placed = place_copies(counted({70, 15, 15}), {3, 1, 1}, 3, 1);
  CHECK(fullest_rank(placed, 1, 3) == Approx(1.0).epsilon(1e-6));
  CHECK(placed.most_copies == 1);
}

TEST_CASE("experts that are alike need no copies, and places alone move nothing", "[unit]") {
  const PlacedExperts even = place_copies(counted({5, 5, 5, 5}), {4, 2, 1}, 2, 2);
  CHECK(even.most_copies == 0);
  CHECK(fullest_rank(even, 2, 2) == Approx(1.0));
  const Routing routing = counted({4, 2, 1, 1});
  CHECK(place_copies(routing, {4, 1, 1}, 2, 0).routing == routing);
}

TEST_CASE("more places never leave the fullest rank fuller, and no row is lost", "[unit]") {
  Routing zipf;
  zipf.kind = RoutingKind::kZipf;
  zipf.zipf_exponent = 0.8;
  const ExpertChoice choice{256, 8, 4096};
  double before = fullest_rank(place_copies(zipf, choice, 32, 0), 8, 32);
  CHECK(before > 2.0);
  for (const std::int64_t spare : {1, 2, 4}) {
    const PlacedExperts placed = place_copies(zipf, choice, 32, spare);
    const std::vector<std::int64_t>& counts = placed.routing.counts;
    CHECK(std::accumulate(counts.begin(), counts.end(), 0.0) == Approx(8e9).epsilon(1e-6));
    const double now = fullest_rank(placed, 8, 32);
    CAPTURE(spare, now);
    CHECK(now <= before);
    before = now;
  }
  CHECK(before < 1.05);
}

}  // namespace
}  // namespace stepcast::expert_copies_test
