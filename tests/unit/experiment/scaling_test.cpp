// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/scaling.hpp"

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

ScalingCurve curve(const ExperimentTree& tree, Scaling scaling,
                   const std::vector<std::int64_t>& sizes) {
  const CostModel cost = default_cost_model();
  const Experiment base = read_experiment(tree.root, "", test::data_root());
  ProfileCache profiles(test::data_root());
  const VariedRun run(tree, base, profiles, cost);
  ScalingCurve result{scaling, {}};
  ScalingLoss loss;
  for (const std::int64_t gpus : sizes) {
    const Variant variant = run.variant(settings_at(base, gpus, scaling));
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
  CHECK(part(weak.sizes.back(), "hops of rings and trees") > 0.0);
  CHECK(part(weak.sizes.back(), "rings that leave a leaf") > 0.0);
  CHECK(part(weak.sizes.back(), "the slowest GPU") > 0.0);
}

TEST_CASE("a fleet of equal GPUs loses nothing to the slowest", "[unit]") {
  const ScalingCurve locked =
      curve(tree("{zero: 3, fsdp: 32}", ", gpu_clock: 1200 MHz"), Scaling::kWeak, {32, 256});
  CHECK(part(locked.sizes.back(), "the slowest GPU") == 0.0);
}

TEST_CASE("a batch that stays leaves a pipeline fewer micro-batches", "[unit]") {
  const ScalingCurve strong = curve(tree("{tp: 4, pp: 4}"), Scaling::kStrong, {32, 128});
  CHECK(strong.sizes.back().projection.training.global_batch_size == 64);
  CHECK(part(strong.sizes.back(), "pipeline bubble") > 0.05);
}

TEST_CASE("a batch that would be no whole number of sequences is refused", "[unit]") {
  const Experiment base = read_experiment(tree("{}").root, "", test::data_root());
  CHECK_NOTHROW(settings_at(base, 8, Scaling::kWeak));
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
