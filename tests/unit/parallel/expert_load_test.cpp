// SPDX-License-Identifier: Apache-2.0
#include "stepcast/parallel/expert_load.hpp"

#include "catch.hpp"

namespace stepcast {
namespace {

using test::nearly;

Routing group_limited(std::int64_t groups, std::int64_t a_token) {
  Routing routing;
  routing.kind = RoutingKind::kGroupLimited;
  routing.groups = groups;
  routing.groups_per_token = a_token;
  return routing;
}

Routing of_kind(RoutingKind kind) {
  Routing routing;
  routing.kind = kind;
  return routing;
}

TEST_CASE("two of four experts lie on 5/3 of two ranks on average", "[unit]") {
  // 4 of the 6 pairs of experts are split over both ranks: (4 * 2 + 2 * 1) / 6.
  CHECK(destinations({}, {4, 2, 2, 1}) == nearly(5.0 / 3.0));
}

// DeepEP, README: 8 of 256 experts; SonicMoE: 8 of 128.
TEST_CASE("destinations of published layers", "[case]") {
  CHECK(destinations({}, {256, 8, 8, 4096}) == Approx(5.2947).epsilon(1e-4));
  CHECK(destinations({}, {128, 8, 4, 32'768}) / 4.0 == Approx(0.90725).epsilon(1e-4));
}

TEST_CASE("a token that takes every expert goes to every rank", "[unit]") {
  for (const std::int64_t ranks : {1, 2, 4, 8}) {
    CHECK(destinations({}, {8, 8, ranks, 16}) == nearly(static_cast<double>(ranks)));
  }
}

TEST_CASE("groups limit the ranks of a token", "[unit]") {
  // 4 of 8 groups, one a rank: 4 (1 - C(96, 8) / C(128, 8)).
  CHECK(destinations(group_limited(8, 4), {256, 8, 8, 1}) == Approx(3.62901).epsilon(1e-5));
  // Two groups a rank: 0, 1 or 2 of them are taken in 15, 40 and 15 of 70 draws.
  CHECK(destinations(group_limited(8, 4), {256, 8, 4, 1}) == Approx(2.92821).epsilon(1e-5));
  CHECK(destinations(group_limited(8, 4), {256, 8, 1, 1}) == nearly(1.0));
  // All groups taken is no limit.
  for (const std::int64_t ranks : {2, 8, 32}) {
    CHECK(destinations(group_limited(8, 8), {256, 8, ranks, 1}) ==
          nearly(destinations({}, {256, 8, ranks, 1})));
  }
}

TEST_CASE("forced round robin sends a token's eight copies to one rank of eight experts",
          "[unit]") {
  const Routing forced = of_kind(RoutingKind::kRoundRobinForced);
  CHECK(destinations(forced, {256, 8, 32, 4096}) == nearly(1.0));
  CHECK(destinations(forced, {256, 8, 64, 4096}) == nearly(2.0));
  CHECK(expert_imbalance(forced, {256, 8, 32, 4096}) == nearly(1.0));
  // 3 tokens take experts 0 to 5 of 8: rows 2, 2, 2 and 0 on four ranks.
  CHECK(expert_imbalance(forced, {8, 2, 4, 3}) == nearly(4.0 / 3.0));
}

TEST_CASE("counts and Zipf's law load the rank of the popular experts most", "[unit]") {
  Routing counts = of_kind(RoutingKind::kCounts);
  counts.counts = {3, 1, 0, 0};
  CHECK(expert_imbalance(counts, {4, 1, 2, 4}) == nearly(2.0));
  Routing zipf = of_kind(RoutingKind::kZipf);
  CHECK(expert_imbalance(zipf, {4, 1, 2, 4}) == nearly(1.0));
  zipf.zipf_exponent = 1.0;  // 1, 1/2: two thirds of the rows
  CHECK(expert_imbalance(zipf, {2, 1, 2, 4}) == nearly(4.0 / 3.0));
  // No expert can be taken twice by a token, however popular.
  zipf.zipf_exponent = 10.0;
  CHECK(expert_imbalance(zipf, {2, 2, 2, 4}) == nearly(1.0));
}

TEST_CASE("a token goes to no more ranks than it has experts or there are", "[property]") {
  for (const RoutingKind kind : {RoutingKind::kUniform, RoutingKind::kRoundRobinForced,
                                 RoutingKind::kGroupLimited, RoutingKind::kZipf}) {
    Routing routing = group_limited(8, 4);
    routing.kind = kind;
    routing.zipf_exponent = 0.7;
    for (const std::int64_t ranks : {1, 2, 4, 8, 16, 32, 64}) {
      CAPTURE(name(kind), ranks);
      const ExpertPlacement placement{64, 6, ranks, 100};
      const double sent = destinations(routing, placement);
      CHECK(sent > 0.99);
      CHECK(sent <= std::min<double>(6.0, static_cast<double>(ranks)) + 1e-9);
      CHECK(expert_imbalance(routing, placement) > 0.999);
    }
  }
}

}  // namespace
}  // namespace stepcast
