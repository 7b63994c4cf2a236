// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/scaling.hpp"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/base/error.hpp"
#include "stepcast/experiment/profile_cache.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/experiment/varied_run.hpp"
#include "stepcast/report/scaling_report.hpp"

namespace stepcast::scaling_test {
namespace {

using test::contains_text;

ExperimentTree tree(const std::string& plan, const std::string& more = "") {
  return {parse_config("model: llama3.1_8b\n"
                       "cluster: {name: h100_rail_optimised, nodes: 4" +
                           more +
                           "}\n"
                           "training: {sequence_length: 4096, global_batch_size: 64}\n"
                           "plan: " +
                           plan + "\n",
                       "test"),
          ""};
}

using Change = std::function<void(Experiment&)>;

ScalingCurve curve(const ExperimentTree& tree, Scaling scaling,
                   const std::vector<std::int64_t>& sizes, const Change& change = {}) {
  const CostModel cost = default_cost_model();
  const Experiment base = read_experiment(tree.root, "", test::data_root());
  const Growth growth{scaling, shares_all(base) ? Sharing::kGrows : Sharing::kStays};
  ProfileCache profiles(test::data_root());
  const VariedRun run(tree, base, profiles, cost);
  ScalingCurve result{scaling, {}};
  ScalingLoss loss;
  for (const std::int64_t gpus : sizes) {
    Variant variant = run.variant(settings_at(base, gpus, growth));
    if (change) {
      change(variant.experiment);
      variant.projection = project(variant.experiment, cost);
    }
    result.sizes.push_back({variant.projection});
    loss.add(variant.experiment, cost, result.sizes.back());
  }
  return result;
}

double part(const ScaledSize& size, const std::string& cause) {
  for (const ScalingPart& part : size.parts) {
    if (part.cause == cause) {
      return part.share;
    }
  }
  FAIL("there is no cause " << cause);
  return 0.0;
}

TEST_CASE("the parts of a scaling curve add up to what each size loses", "[unit]") {
  const ScalingCurve weak = curve(tree("{zero: 3, fsdp: 32}"), Scaling::kWeak, {32, 256, 1024});
  const Projection& first = weak.sizes.front().projection;
  CHECK(weak.sizes.front().loss == 0.0);
  for (const ScaledSize& size : weak.sizes) {
    CAPTURE(size.projection.gpus);
    double sum = 0.0;
    for (const ScalingPart& part : size.parts) {
      sum += part.share;
    }
    CHECK(sum == Approx(size.loss).margin(1e-9));
    CHECK(size.loss ==
          Approx(1.0 - size.projection.tokens_per_second_per_gpu / first.tokens_per_second_per_gpu)
              .margin(1e-12));
    // The batch and the ranks that share one copy grow with the GPUs.
    CHECK(size.projection.training.global_batch_size == 2 * size.projection.gpus);
    CHECK(size.projection.plan.fsdp == size.projection.gpus);
  }
  CHECK(part(weak.sizes.back(), "dependent steps of communication") > 0.0);
  CHECK(part(weak.sizes.back(), "rings that leave a leaf") > 0.0);
  CHECK(part(weak.sizes.back(), "the slowest GPU") > 0.0);
}

TEST_CASE("a fleet of equal GPUs loses nothing to the slowest", "[unit]") {
  const ScalingCurve equal = curve(
      tree("{zero: 3, fsdp: 32}"), Scaling::kWeak, {32, 256},
      [](Experiment& experiment) { experiment.cluster.device.kernels.power.clock_spread = 0.0; });
  CHECK_FALSE(equal.sizes.back().projection.clock_locked);
  CHECK(part(equal.sizes.back(), "the slowest GPU") == 0.0);
}

TEST_CASE("ranks that share one copy of the parameters grow where they are told to", "[unit]") {
  const Experiment whole = read_experiment(tree("{tp: 2, fsdp: 16}").root, "", test::data_root());
  const Experiment part = read_experiment(tree("{tp: 2, fsdp: 8}").root, "", test::data_root());
  CHECK(shares_all(whole));
  CHECK_FALSE(shares_all(part));
  const auto has_fsdp = [](const KeySettings& settings, const std::string& ranks) {
    return std::ranges::find(settings, std::pair<std::string, std::string>("plan.fsdp", ranks)) !=
           settings.end();
  };
  CHECK(has_fsdp(settings_at(whole, 64, {Scaling::kWeak, Sharing::kGrows}), "32"));
  CHECK(settings_at(whole, 64, {Scaling::kWeak, Sharing::kStays}) ==
        size_at(whole, 64, Scaling::kWeak));
}

TEST_CASE("what waits for parameters and gradients is data-parallel traffic and no bubble",
          "[unit]") {
  // The schedule and its micro-batches stay, so that the bubble does.
  const ScalingCurve weak = curve(tree("{tp: 2, pp: 4, zero: 1}"), Scaling::kWeak, {32, 256, 1024});
  CHECK(part(weak.sizes.back(), "data-parallel traffic") > 0.0);
  CHECK(part(weak.sizes.back(), "dp communication") == Approx(0.0).margin(1e-9));
  CHECK(part(weak.sizes.back(), "pipeline bubble") == Approx(0.0).margin(2e-3));
}

TEST_CASE("sizes lose from the first one on that can run", "[unit]") {
  // 8 billion parameters and what trains them are 140 GB and more.
  const ScalingCurve strong = curve(tree("{zero: 3}"), Scaling::kStrong, {1, 8, 16});
  const ScaledSize& small = strong.sizes.front();
  REQUIRE(small.projection.priced);
  REQUIRE_FALSE(small.projection.feasible());
  CHECK(small.parts.empty());
  CHECK(strong.sizes[1].loss == 0.0);
  CHECK_THAT(to_text(strong), contains_text("lost: of the rate of 8 GPUs"));
  const nlohmann::ordered_json json = to_json(strong);
  CHECK_FALSE(json.contains("verdict"));
  CHECK_FALSE(json.contains("probability"));
  CHECK_FALSE(json.at("sizes")[0].contains("loss"));
  CHECK(json.at("sizes")[0].at("verdict") == "does_not_fit");
  CHECK(json.at("sizes")[1].at("verdict") == "fits");
}

TEST_CASE("where no size can run the report says why", "[unit]") {
  const ScalingCurve none = curve(tree("{tp: 7}"), Scaling::kStrong, {8, 16});
  const nlohmann::ordered_json json = to_json(none);
  CHECK_FALSE(json.at("feasible").get<bool>());
  CHECK_THAT(json.at("reasons")[0].get<std::string>(), contains_text("8 GPUs: tp * cp * pp = 7"));
}

TEST_CASE("a size that there is none of is a row with its reason", "[unit]") {
  ScalingCurve all = curve(tree("{}"), Scaling::kStrong, {8, 16});
  const Experiment base = read_experiment(tree("{}").root, "", test::data_root());
  all.sizes.push_back(refused_size(base, 20, ConfigError({"test", 0, 0}, "no whole nodes of 8")));
  CHECK_THAT(to_text(all), contains_text("20  no whole nodes of 8"));
  const nlohmann::ordered_json size = to_json(all).at("sizes")[2];
  CHECK(size == nlohmann::ordered_json(
                    {{"gpus", 20}, {"feasible", false}, {"reasons", {"no whole nodes of 8"}}}));
  CHECK_THAT(to_csv(all), contains_text("\n20,,,false,,,,,,,,,,,no whole nodes of 8,,\n"));
}

TEST_CASE("CSV and JSON of a curve have the plan of each size", "[unit]") {
  const ScalingCurve weak = curve(tree("{zero: 3, fsdp: 32}"), Scaling::kWeak, {32, 64});
  const std::string csv = to_csv(weak);
  CHECK_THAT(csv, contains_text(",micro_batch_size,recompute,schedule,plan,reasons,cause,share\n"));
  CHECK_THAT(csv, contains_text(",1,none,1f1b,\"tp 1, cp 1, pp 1, ep 1, dp 64, fsdp 64\","));
  const nlohmann::ordered_json size = to_json(weak).at("sizes")[1];
  CHECK(size.at("recompute") == "none");
  CHECK(size.at("micro_batch_size") == 1);
}

TEST_CASE("the notes of a curve stand before those of its sizes", "[unit]") {
  ScalingCurve weak = curve(tree("{}"), Scaling::kWeak, {32});
  weak.notes = {"fsdp 8 stays at every size"};
  CHECK_THAT(to_text(weak), contains_text("fsdp 8 stays at every size\n"));
  CHECK(to_json(weak).at("context").at("notes")[0] == "fsdp 8 stays at every size");
}

TEST_CASE("a batch that stays leaves a pipeline fewer micro-batches", "[unit]") {
  const ScalingCurve strong = curve(tree("{tp: 4, pp: 4}"), Scaling::kStrong, {32, 128});
  CHECK(strong.sizes.back().projection.training.global_batch_size == 64);
  CHECK(part(strong.sizes.back(), "pipeline bubble") > 0.05);
}

TEST_CASE("a batch that would be no whole number of sequences is refused", "[unit]") {
  const Experiment base = read_experiment(tree("{}").root, "", test::data_root());
  CHECK_NOTHROW(settings_at(base, 8, {}));
  // Three sequences on eight GPUs are one and a half on four.
  Experiment three = base;
  three.training.global_batch_size = 3;
  three.cluster.nodes = 1;
  CHECK_THROWS_WITH(size_at(three, 4, Scaling::kWeak), contains_text("is no whole number"));
}

TEST_CASE("a size that cannot run is told with its reasons", "[unit]") {
  const ScalingCurve all = curve(tree("{tp: 8, pp: 4}"), Scaling::kStrong, {8, 32, 64});
  CHECK_FALSE(all.sizes.front().projection.priced);
  CHECK(all.sizes.front().parts.empty());
  CHECK(all.sizes[1].loss == 0.0);
  const std::string text = to_text(all);
  CHECK_THAT(text, contains_text("These cannot run:"));
  CHECK_THAT(text, contains_text("strong: the global batch stays"));
  const nlohmann::ordered_json json = to_json(all);
  CHECK(json.at("sizes").size() == 3);
  CHECK_FALSE(json.at("sizes")[0].contains("loss"));
  CHECK(json.at("feasible").get<bool>());
}

}  // namespace
}  // namespace stepcast::scaling_test
