// SPDX-License-Identifier: Apache-2.0
#include "stepcast/cost/price_cache.hpp"

#include <tuple>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "property/random_ops.hpp"
#include "sample_specs.hpp"
#include "stepcast/experiment/project.hpp"

namespace stepcast::price_cache_test {
namespace {

// Counts the products that it prices: m seconds each.
class CountingGemm final : public GemmModel {
 public:
  [[nodiscard]] OpCost gemm(const Gemm& op, const KernelContext&) const override {
    ++calls;
    return {Seconds(static_cast<double>(op.m))};
  }
  [[nodiscard]] OpCost grouped_gemm(const GroupedGemm&, const KernelContext&) const override {
    ++calls;
    return {};
  }
  mutable int calls = 0;
};

KernelContext context_of(const ClusterSpec& cluster, double gigahertz = 1.5,
                         std::int64_t units = 100) {
  return {cluster.device, Hertz(gigahertz * 1e9), units, Seconds{}};
}

TEST_CASE("an operator is priced once at each clock, and on each number of units", "[unit]") {
  const ClusterSpec cluster = cluster_of(test::shipped_gpu("h200_sxm"), 1);
  CostModel model = default_cost_model();
  const auto counting = std::make_shared<CountingGemm>();
  model.gemm = counting;
  const CostModel kept = with_kept_prices(model, cluster);
  const Op op{.work = Gemm{7, 8, 9}};
  for (int i = 0; i < 3; ++i) {
    CHECK(kept.cost(op, context_of(cluster), cluster).duration == Seconds(7));
  }
  CHECK(counting->calls == 1);
  std::ignore = kept.cost(op, context_of(cluster, 1.6), cluster);
  std::ignore = kept.cost(op, context_of(cluster, 1.5, 99), cluster);
  std::ignore = kept.cost({.work = Gemm{7, 8, 10}}, context_of(cluster), cluster);
  CHECK(counting->calls == 4);
  // Another name is no other operator.
  std::ignore = kept.cost({.work = Gemm{7, 8, 9}}, context_of(cluster), cluster);
  CHECK(counting->calls == 4);
}

TEST_CASE("prices with their terms, and on another cluster, go through", "[unit]") {
  const ClusterSpec cluster = cluster_of(test::shipped_gpu("h200_sxm"), 1);
  const ClusterSpec other = cluster;
  CostModel model = default_cost_model();
  const auto counting = std::make_shared<CountingGemm>();
  model.gemm = counting;
  const CostModel kept = with_kept_prices(model, cluster);
  const Op op{.work = Gemm{7, 8, 9}};
  for (int i = 0; i < 2; ++i) {
    KernelContext detailed = context_of(cluster);
    detailed.detail = Detail::kTerms;
    std::ignore = kept.cost(op, detailed, cluster);
    std::ignore = kept.cost(op, context_of(other), other);
  }
  CHECK(counting->calls == 4);
}

TEST_CASE("kept prices are the model's, bit for bit", "[property]") {
  const ClusterSpec cluster = cluster_of(test::shipped_gpu("mi300x"), 4);
  const CostModel model = default_cost_model();
  const CostModel kept = with_kept_prices(model, cluster);
  for (const int pass : {1, 2}) {
    test::RandomOps random(3);
    for (int i = 0; i < 300; ++i) {
      const Op op{.work = random.gemm()};
      const KernelContext context = context_of(cluster, 1.0 + 0.5 * (i % 3), 100 + i % 5);
      const OpCost expected = model.cost(op, context, cluster);
      const OpCost found = kept.cost(op, context, cluster);
      CAPTURE(pass, i);
      REQUIRE(found.duration == expected.duration);
      REQUIRE(found.energy == expected.energy);
      REQUIRE(found.bound == expected.bound);
    }
  }
}

TEST_CASE("a plan of a sweep has the numbers of the plan by itself, bit for bit", "[property]") {
  Experiment experiment =
      load_experiment(test::data_root().folder / "examples/13_mixtral_8x22b_h100/experiment.yaml",
                      {}, test::data_root());
  const CostModel model = default_cost_model();
  const CostModel kept = with_kept_prices(model, experiment.cluster);
  for (const std::int64_t pp : {1, 2, 4, 2, 1}) {
    for (const std::int64_t tp : {1, 4}) {
      experiment.plan = {};
      experiment.plan.given = true;
      experiment.plan.tp = tp;
      experiment.plan.pp = pp;
      experiment.plan.ep = 8;
      const Projection alone = project(experiment, model);
      const Projection swept = project(experiment, kept);
      CAPTURE(pp, tp);
      REQUIRE(alone.priced);
      REQUIRE(swept.time.step == alone.time.step);
      REQUIRE(swept.clock == alone.clock);
      REQUIRE(swept.time.breakdown.compute == alone.time.breakdown.compute);
    }
  }
}

}  // namespace
}  // namespace stepcast::price_cache_test
