// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/timed_runs.hpp"

#include <nlohmann/json.hpp>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "importers/measurement_files.hpp"
#include "sample_specs.hpp"
#include "stepcast/report/validation_report.hpp"

namespace stepcast::sku_ratios_test {
namespace {

TimedRun run(const std::string& gpu, double predicted, double measured, std::int64_t tp = 1) {
  TimedRun made;
  made.id = gpu;
  made.projection.model = "sample";
  made.projection.gpu = gpu;
  made.projection.gpus = 8;
  made.projection.software = "stack";
  made.projection.parameters = 1e9;
  made.projection.plan.tp = tp;
  made.projection.tokens_per_second_per_gpu = predicted;
  made.measured = measured;
  return made;
}

TEST_CASE("the ratio of two GPUs is predicted over measured", "[unit]") {
  const std::vector<SkuPair> pairs = sku_pairs({run("b", 242, 200), run("a", 110, 100)});
  REQUIRE(pairs.size() == 1);
  CHECK(pairs[0].first.gpu == "a");
  CHECK(pairs[0].measured_ratio() == 2.0);
  CHECK(pairs[0].predicted_ratio() == Approx(2.2));
  CHECK(pairs[0].error() == Approx(0.1));
}

TEST_CASE("another plan is other work, and one GPU is no pair", "[unit]") {
  CHECK(sku_pairs({run("a", 1, 1), run("b", 1, 1, 2)}).empty());
  CHECK(sku_pairs({run("a", 1, 1), run("a", 2, 2)}).empty());
  CHECK(median_error({}) == 0.0);
}

TEST_CASE("several runs of one GPU count by their median", "[unit]") {
  const std::vector<SkuPair> pairs =
      sku_pairs({run("a", 10, 10), run("a", 20, 30), run("a", 30, 20), run("b", 40, 40)});
  REQUIRE(pairs.size() == 1);
  CHECK(pairs[0].first.measured == 20.0);
  CHECK(pairs[0].first.ids.size() == 3);
  CHECK(pairs[0].error() == Approx(0.0).margin(1e-12));
  CHECK(sku_pairs_to_json(pairs).at("pairs")[0].at("measured_ratio") == 2.0);
}

TEST_CASE("three GPUs are three pairs", "[unit]") {
  const std::vector<SkuPair> pairs =
      sku_pairs({run("a", 1, 1), run("b", 1.1, 1), run("c", 1.3, 1)});
  REQUIRE(pairs.size() == 3);
  CHECK(median_error(pairs) == Approx(1.3 / 1.1 - 1.0));  // of 10, 18 and 30 %
}

TEST_CASE("Ratios of GPUs in the shipped runs are predicted within a tenth", "[validation]") {
  const std::filesystem::path file =
      test::data_root().folder / "tests/validation/training_runs.jsonl";
  const std::vector<SkuPair> pairs =
      sku_pairs(timed_runs({file}, test::data_root(), default_cost_model(), all_importers()));
  CHECK(pairs.size() >= 15);
  CHECK(median_error(pairs) <= 0.10);
}

}  // namespace
}  // namespace stepcast::sku_ratios_test
