// SPDX-License-Identifier: Apache-2.0
#include "stepcast/model/routing.hpp"

#include "catch.hpp"
#include "stepcast/model/weighted_choice.hpp"

namespace stepcast::routing_test {
namespace {

PartLoads loads(RoutingKind kind, ExpertChoice choice, std::int64_t parts) {
  Routing routing;
  routing.kind = kind;
  return part_loads(routing, choice, parts);
}

PartLoads in_groups(std::int64_t groups, std::int64_t per_token, ExpertChoice choice,
                    std::int64_t parts) {
  Routing routing;
  routing.kind = RoutingKind::kGroupLimited;
  routing.groups = groups;
  routing.groups_per_token = per_token;
  return part_loads(routing, choice, parts);
}

PartLoads zipf(double exponent, ExpertChoice choice, std::int64_t parts) {
  Routing routing;
  routing.kind = RoutingKind::kZipf;
  routing.zipf_exponent = exponent;
  return part_loads(routing, choice, parts);
}

constexpr ExpertChoice kDeepSeek{256, 8, 4096};

TEST_CASE("two of four experts on two ranks reach 5/3 ranks", "[unit]") {
  // One of the C(4,2) = 6 pairs is on the other rank alone.
  const PartLoads even = loads(RoutingKind::kUniform, {4, 2, 1}, 2);
  CHECK(even.distinct == Approx(2.0 * (1.0 - 1.0 / 6.0)));
  CHECK(even.most_hits == Approx(5.0 / 6.0));
  CHECK(even.most_copies == Approx(1.0));
}

TEST_CASE("8 of 256 experts reach 5.295 of 8 ranks", "[unit]") {
  CHECK(loads(RoutingKind::kUniform, kDeepSeek, 8).distinct == Approx(5.295).epsilon(2e-4));
  CHECK(loads(RoutingKind::kUniform, {128, 8, 1}, 4).distinct / 4.0 ==
        Approx(0.9073).epsilon(2e-4));
}

TEST_CASE("draws with replacement reach 58975/65536 of four ranks", "[unit]") {
  CHECK(loads(RoutingKind::kIndependent, {128, 8, 1}, 4).distinct == 4.0 * 58975.0 / 65536.0);
}

TEST_CASE("one part is reached by every token, whatever the routing", "[unit]") {
  CHECK(loads(RoutingKind::kUniform, kDeepSeek, 1).distinct == 1.0);
  CHECK(zipf(1.0, kDeepSeek, 1).distinct == 1.0);
}

TEST_CASE("all groups allowed are uniform", "[unit]") {
  for (const std::int64_t parts : {2, 4, 8, 16, 64, 256}) {
    CAPTURE(parts);
    CHECK(in_groups(8, 8, kDeepSeek, parts).distinct ==
          Approx(loads(RoutingKind::kUniform, kDeepSeek, parts).distinct));
  }
}

TEST_CASE("4 of 8 nodes by their best expert are almost all reached", "[unit]") {
  // min(nodes of 8 uniform experts, 4) on average, as DeepEP's test of 64 ranks has it.
  CHECK(in_groups(8, 4, kDeepSeek, 8).distinct == Approx(3.98308).epsilon(1e-5));
  // The ranks of four nodes only: fewer than without groups, more than nodes.
  const double ranks = in_groups(8, 4, kDeepSeek, 64).distinct;
  CHECK(ranks < loads(RoutingKind::kUniform, kDeepSeek, 64).distinct);
  CHECK(ranks > 6.5);
}

TEST_CASE("one group allowed keeps a token's experts together", "[unit]") {
  CHECK(in_groups(8, 1, kDeepSeek, 8).distinct == Approx(1.0));
  CHECK(in_groups(8, 1, kDeepSeek, 4).distinct == Approx(1.0));
}

TEST_CASE("forced round robin puts all 8 copies on one of 32 ranks", "[unit]") {
  const PartLoads forced = loads(RoutingKind::kRoundRobinForced, kDeepSeek, 32);
  CHECK(forced.distinct == 1.0);
  CHECK(forced.most_hits == Approx(1.0 / 32.0));
  CHECK(forced.most_copies == Approx(8.0 / 32.0));
}

TEST_CASE("forced round robin counts tokens where they do not fill the experts", "[unit]") {
  // 3 tokens of 2 out of 4 experts on 2 ranks: ranks 0, 1, 0.
  const PartLoads few = loads(RoutingKind::kRoundRobinForced, {4, 2, 3}, 2);
  CHECK(few.distinct == Approx(1.0));
  CHECK(few.most_hits == Approx(2.0 / 3.0));
  CHECK(few.most_copies == Approx(4.0 / 3.0));
  // Experts 0 1 2, 3 0 1, 2 3 0, 1 2 3 on 2 ranks: both ranks each time.
  CHECK(loads(RoutingKind::kRoundRobinForced, {4, 3, 4}, 2).distinct == Approx(2.0));
}

TEST_CASE("zipf with exponent 0 is uniform, a larger one has a hotter rank", "[unit]") {
  const PartLoads even = loads(RoutingKind::kUniform, kDeepSeek, 8);
  const PartLoads flat = zipf(0.0, kDeepSeek, 8);
  CHECK(flat.distinct == Approx(even.distinct).epsilon(2e-3));
  CHECK(flat.most_copies == Approx(1.0).epsilon(1e-6));
  const PartLoads steep = zipf(1.0, kDeepSeek, 8);
  CHECK(steep.distinct < even.distinct);
  CHECK(steep.most_hits > 0.98);
  CHECK(steep.most_copies > 3.0);
}

TEST_CASE("of weights 4 3 3 2 the first half is hit by one draw with 7/12", "[unit]") {
  // One draw: the first two of four weights 4 3 3 2 hold 7/12.
  CHECK(WeightedChoice({4, 3, 3, 2}, 1).part_loads(2).most_hits ==
        Approx(7.0 / 12.0).epsilon(0.02));
  // Two draws miss it with 3/12 2/9 + 2/12 3/10.
  const PartLoads two = WeightedChoice({4, 3, 3, 2}, 2).part_loads(2);
  CHECK(two.most_hits == Approx(1.0 - (3.0 / 12 * 2.0 / 9 + 2.0 / 12 * 3.0 / 10)).epsilon(0.02));
}

TEST_CASE("Copies of a routing share what they find, and a changed one finds its own", "[unit]") {
  Routing alone;
  alone.kind = RoutingKind::kZipf;
  alone.zipf_exponent = 1.0;
  const Routing sharing = with_shared_loads(alone);
  Routing steeper = sharing;
  steeper.zipf_exponent = 1.5;
  REQUIRE(sharing.shared.known != nullptr);
  CHECK(steeper.shared.known == sharing.shared.known);
  CHECK(sharing == alone);
  for (const std::int64_t parts : {8, 16, 8, 512}) {
    for (const ExpertChoice choice : {kDeepSeek, ExpertChoice{128, 4, 100}}) {
      const PartLoads own = part_loads(alone, choice, parts);
      const PartLoads shared = part_loads(sharing, choice, parts);
      CHECK(shared.distinct == own.distinct);
      CHECK(shared.most_hits == own.most_hits);
      CHECK(shared.most_copies == own.most_copies);
      CHECK(part_loads(steeper, choice, parts).most_copies > own.most_copies);
    }
  }
  CHECK(with_shared_loads(Routing{}).shared.known == nullptr);
}

TEST_CASE("equal counts are uniform, and an expert that all tokens take is always hit", "[unit]") {
  Routing routing;
  routing.kind = RoutingKind::kCounts;
  routing.counts.assign(256, 128);
  CHECK(part_loads(routing, kDeepSeek, 8).distinct ==
        Approx(loads(RoutingKind::kUniform, kDeepSeek, 8).distinct).epsilon(2e-3));
  routing.counts = {100, 50, 50, 0};
  const PartLoads skewed = part_loads(routing, {4, 2, 100}, 4);
  CHECK(skewed.most_hits == Approx(1.0).epsilon(1e-3));
}

TEST_CASE("capacity is rounded up and padding goes to the next multiple", "[unit]") {
  CHECK(expert_capacity(4096, 8, 256, 1.0) == 128);
  CHECK(expert_capacity(1000, 8, 256, 1.25) == 40);
  CHECK(padded_rows(100, 4, 128) == 512);
  CHECK(padded_rows(100, 4, 0) == 400);
}

TEST_CASE("a capacity factor drops nothing of even loads and the excess of skewed ones", "[unit]") {
  Routing routing;
  CHECK(kept_share(routing, kDeepSeek, 0.0) == 1.0);
  CHECK(kept_share(routing, kDeepSeek, 1.0) == 1.0);
  CHECK(kept_share(routing, kDeepSeek, 0.5) == 0.5);
  routing.kind = RoutingKind::kCounts;
  routing.counts = {30, 10, 10, 10};
  // One of four experts is chosen; the first with 1/2, of which a factor of 1 leaves 1/4.
  CHECK(kept_share(routing, {4, 1, 60}, 1.0) == Approx(0.75).epsilon(1e-6));
}

}  // namespace
Routing learned(double max_violation) {
  Routing routing;
  routing.kind = RoutingKind::kLearned;
  routing.max_violation = max_violation;
  return routing;
}

TEST_CASE("the fullest expert of a learned routing has what its MaxVio says", "[unit]") {
  for (const double violation : {0.04, 0.52, 2.0}) {
    CAPTURE(violation);
    const ExpertLoad load = expert_load(learned(violation), kDeepSeek, 8, 0.0);
    CHECK(load.fullest_expert == Approx(1.0 + violation).epsilon(2e-3));
    CHECK(load.fullest_rank > 1.0);
    // 32 experts of a rank share what the fullest has too much.
    CHECK(load.fullest_rank - 1.0 < 0.2 * violation);
    CHECK(load.kept == 1.0);
  }
}

TEST_CASE(
    "experts of a learned routing without violation are even, and alone on a rank they are it",
    "[unit]") {
  const ExpertLoad even = expert_load(learned(0.0), kDeepSeek, 8, 0.0);
  CHECK(even.fullest_expert == Approx(1.0));
  CHECK(even.fullest_rank == Approx(1.0));
  const ExpertLoad alone = expert_load(learned(0.5), {8, 2, 64}, 8, 0.0);
  CHECK(alone.fullest_rank == Approx(alone.fullest_expert));
}

TEST_CASE("a capacity of the mean drops what a learned routing has above it", "[unit]") {
  const double kept = expert_load(learned(0.5), kDeepSeek, 8, 1.0).kept;
  CHECK(kept < 1.0);
  CHECK(kept > 0.85);
  CHECK(expert_load(learned(0.5), kDeepSeek, 8, 1.5).kept == Approx(1.0).epsilon(1e-3));
}

}  // namespace stepcast::routing_test
