// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/run_choice.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "stepcast/report/recommendation_report.hpp"

namespace stepcast::recommendation_test {
namespace {

using test::contains_text;

// So many GPUs that take so many days; a GPU-hour costs 2 $.
RunCandidate candidate(std::int64_t gpus, double days) {
  RunCandidate result;
  Projection& p = result.projection;
  p.gpu = "part";
  p.gpus = gpus;
  p.priced = true;
  p.memory = {StageMemory{}};
  p.run = TrainingRun{};
  p.run->gpus = gpus;
  p.run->wall = Seconds(days * 86'400.0);
  p.gpu_hour = GpuHourPrice{2.0, "$"};
  return result;
}

RunCandidate refused(std::int64_t gpus) {
  RunCandidate result;
  result.projection.gpus = gpus;
  result.projection.reasons = {"7 of 9 plans: constraint 'mfu > 0.4'"};
  return result;
}

RunLimits days(double most) { return {most, std::nullopt, std::nullopt}; }

}  // namespace

TEST_CASE("The fewest, the cheapest and the fastest are told apart", "[unit]") {
  // 8 * 30 * 24 * 2 = 11,520 $; 16 * 14 = 10,752 $; 32 * 8 = 12,288 $.
  const RecommendedGpu gpu = recommended(
      "part", {candidate(8, 30.0), candidate(16, 14.0), candidate(32, 8.0)}, days(31.0));
  CHECK(gpu.fewest == 0);
  CHECK(gpu.cheapest == 1);
  CHECK(gpu.fastest == 2);
  CHECK(std::abs(run_cost(gpu.candidates[1].projection) - 16.0 * 14.0 * 24.0 * 2.0) < 1e-6);
}

TEST_CASE("What does not stay within a limit is no answer", "[unit]") {
  std::vector<RunCandidate> all = {candidate(8, 30.0), candidate(16, 14.0), candidate(32, 8.0)};
  const RecommendedGpu in_time = recommended("part", all, days(20.0));
  CHECK(in_time.fewest == 1);
  RunLimits cheap;
  cheap.budget = 11'000.0;
  CHECK(recommended("part", all, cheap).fastest == 1);
  RunLimits few;
  few.gpus = 8;
  CHECK(recommended("part", all, few).fastest == 0);
  CHECK_FALSE(recommended("part", all, days(7.0)).fewest);
}

TEST_CASE("Limits that leave nothing are named with what comes nearest", "[unit]") {
  const RecommendedGpu gpu =
      recommended("part", {refused(4), candidate(8, 30.0), candidate(16, 14.0)}, days(7.0));
  const std::map<std::string, std::int64_t> reasons = emptied_by(gpu, days(7.0));
  REQUIRE(reasons.size() == 2);
  CHECK(reasons.at("at most 7.0 days; the nearest takes 14.0") == 2);
  CHECK(reasons.at("no plan can run") == 1);
  const std::string text = recommendation_to_text({gpu}, days(7.0));
  CHECK_THAT(text, contains_text("nothing stays within the limits"));
  CHECK_THAT(text, contains_text("7 of 9 plans: constraint 'mfu > 0.4'"));
}

TEST_CASE("In a Pareto set fewer days cost more, over all GPUs", "[unit]") {
  const std::vector<RecommendedGpu> gpus = {
      recommended("one", {candidate(8, 30.0), candidate(32, 8.0)}, {}),
      recommended("other", {candidate(8, 29.0), candidate(32, 9.0), candidate(64, 4.5)}, {})};
  const std::vector<PlacedCandidate> front = pareto_of(gpus, {});
  // 64 GPUs in 4.5 days, 32 in 8 and 8 in 29; 32 in 9 days and 8 in 30 are beaten.
  REQUIRE(front.size() == 3);
  CHECK((front[0].gpu == 1 && front[0].candidate == 2));
  CHECK((front[1].gpu == 0 && front[1].candidate == 1));
  CHECK((front[2].gpu == 1 && front[2].candidate == 0));
}

TEST_CASE("The headline names the cheapest and how much cheaper it is", "[unit]") {
  const std::vector<RecommendedGpu> gpus = {recommended("one", {candidate(8, 30.0)}, days(40.0)),
                                            recommended("other", {candidate(8, 15.0)}, days(40.0))};
  const auto json = recommendation_to_json(gpus, days(40.0), "test");
  CHECK(json["headline"] == "8 part: 15.0 days, 5,760 $; 2.00 times cheaper than 8 part");
  CHECK(json["answers"].size() == 2);
  CHECK(json["answers"][0]["fewest"]["gpus"] == 8);
}

TEST_CASE("What is trained stands beside the answers, and each GPU's software", "[unit]") {
  RunCandidate one = candidate(8, 30.0);
  one.projection.model = "model";
  one.projection.training.sequence_length = 4096;
  one.projection.training.global_batch_size = 512;
  one.projection.software = "set";
  const auto json = recommendation_to_json({recommended("one", {one}, {})}, {}, "test");
  const auto& input = json["context"]["input"];
  CHECK(input["model"] == "model");
  CHECK(input["training"]["sequence_length"] == 4096);
  CHECK(input["training"]["global_batch_size"] == 512);
  CHECK(input["training"]["dtype"] == "bf16");
  CHECK(json["answers"][0]["software"] == "set");
  // Without a number of GPUs nothing is known of the work.
  CHECK_FALSE(recommendation_to_json({recommended("one", {}, {})}, {}, "test")["context"].contains(
      "input"));
}

}  // namespace stepcast::recommendation_test
