// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/plan_evaluator.hpp"

#include <numeric>

#include "catch.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/plan/reason.hpp"
#include "sweep_text.hpp"

namespace stepcast::plan_evaluator_test {
namespace {

using test::evaluated;
using test::small_sweep;
using test::sweep_of;

std::int64_t refused(const ChunkResult& chunk) {
  return std::accumulate(chunk.refused.begin(), chunk.refused.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& entry) { return sum + entry.second; });
}

bool same(const PlanNumbers& a, const Projection& b) {
  return a.tokens_per_second_per_gpu == b.tokens_per_second_per_gpu && a.step == b.time.step &&
         a.model_rate_per_gpu == b.model_rate_per_gpu && a.mfu == b.mfu &&
         a.peak_memory == b.peak_memory() && a.clock == b.clock && a.power == b.power &&
         a.time.total() == b.time.breakdown.total() && a.time.bubble == b.time.breakdown.bubble &&
         a.time.exposed == b.time.breakdown.exposed;
}

std::string mixed_sweep() {
  return small_sweep(
      ", global_batch_size: [16, 24], micro_batch_size: [1, 2, 5], recompute: [none, full]",
      "{tp: [1, 2, 3], pp: [1, 2], zero: [0, 1, 3], "
      "schedule: [1f1b, {schedule: interleaved_1f1b, vpp: 2}]}",
      "software: [megatron, torchtitan]\nconstraints: [\"tp * pp <= 4\", \"micro_batches >= "
      "2\"]\n");
}

}  // namespace

TEST_CASE("Numbers of a sweep are those of project, bit for bit", "[unit]") {
  const SweepSpace space = sweep_of(mixed_sweep());
  const ChunkResult all = evaluated(space);
  REQUIRE(all.priced.size() > 50);
  for (const PlanNumbers& numbers : all.priced) {
    INFO(numbers.plan);
    // Without prices kept from other plans.
    CHECK(same(numbers, project(space.experiment(numbers.plan), default_cost_model())));
  }
}

TEST_CASE("An index means what the same values written in an experiment mean", "[unit]") {
  const std::string text = mixed_sweep();
  const SweepSpace space = sweep_of(text);
  const ChunkResult all = evaluated(space);
  for (std::size_t i = 0; i < all.priced.size(); i += 7) {
    const PlanNumbers& numbers = all.priced[i];
    ConfigNode tree = parse_config(text, "test");
    std::erase_if(tree.entries, [](const ConfigEntry& e) { return e.key == "constraints"; });
    for (std::size_t axis = 0; axis < space.axes().size(); ++axis) {
      const SweepAxis& swept = space.axes()[axis];
      for (std::size_t key = 0; key < swept.keys.size(); ++key) {
        const std::string& value = swept.values[space.digit(numbers.plan, axis)][key];
        if (!value.empty()) {
          apply_override(tree, swept.keys[key] + "=" + value);
        }
      }
    }
    INFO(numbers.plan);
    CHECK(
        same(numbers, project(read_experiment(tree, {}, test::data_root()), default_cost_model())));
  }
}

TEST_CASE("Every plan is priced or counted once, whatever the chunks", "[unit]") {
  const SweepSpace space = sweep_of(mixed_sweep());
  const ChunkResult all = evaluated(space);
  CHECK(std::ssize(all.priced) + refused(all) == space.size());
  // In pieces, the last first, by one evaluator.
  PlanEvaluator evaluator(space, {space.sites().size(), default_cost_model()},
                          std::make_shared<SolvedPipelines>());
  std::vector<PlanNumbers> pieces;
  std::map<std::string, std::int64_t> reasons;
  for (std::int64_t end = space.size(); end > 0; end = std::max<std::int64_t>(end - 37, 0)) {
    const ChunkResult piece = evaluator.evaluate(std::max<std::int64_t>(end - 37, 0), end);
    pieces.insert(pieces.begin(), piece.priced.begin(), piece.priced.end());
    for (const auto& [reason, plans] : piece.refused) {
      reasons[reason] += plans;
    }
  }
  CHECK(reasons == all.refused);
  REQUIRE(pieces.size() == all.priced.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    CHECK(pieces[i].plan == all.priced[i].plan);
    CHECK(pieces[i].step == all.priced[i].step);
    CHECK(pieces[i].power == all.priced[i].power);
  }
}

TEST_CASE("Plans are refused by constraints, then division, then memory", "[unit]") {
  // 8 GPUs; tp 3 divides nothing, and a micro-batch of 4,096 sequences fits nowhere.
  const SweepSpace space =
      sweep_of(small_sweep(", global_batch_size: 32768, micro_batch_size: [1, 4096]",
                           "{tp: [1, 3, 8]}", "constraints: [\"tp < 8\"]\n"));
  const ChunkResult all = evaluated(space);
  CHECK(all.refused ==
        std::map<std::string, std::int64_t>{{"constraint 'tp < 8'", 2},
                                            {"tp * cp * pp does not divide the number of GPUs", 2},
                                            {std::string(kRefusedByMemory), 1}});
  REQUIRE(all.priced.size() == 1);
  CHECK(all.priced.front().plan == 0);
}

TEST_CASE("A key that makes no difference to a plan gives it once", "[unit]") {
  // tp 1: the switch is off either way. One replica with tp 8: ZeRO 0, 1 and 2 are the same.
  const SweepSpace space =
      sweep_of(small_sweep(", global_batch_size: 16",
                           "{tp: [1, 8], sequence_parallel: [false, true], zero: [0, 1, 2]}"));
  const ChunkResult all = evaluated(space);
  // tp 1: 3 of 6; tp 8: 2 of 6.
  CHECK(all.refused.at(std::string(kSamePlan)) == 7);
  CHECK(all.priced.size() == 5);
  CHECK(all.priced.front().plan == 0);
}

TEST_CASE("Reasons are counted without their plan's numbers", "[unit]") {
  const Reason uneven = does_not_divide("2 * cp", 6, "sequence_length", 512);
  CHECK(uneven.text() == "2 * cp = 6 does not divide sequence_length = 512");
  CHECK(uneven.rule() == "2 * cp does not divide sequence_length");
  const Reason other{"dp", of_plan(" = ", 4), of_rule(" is another"), "; leave it out"};
  CHECK(other.text() == "dp = 4; leave it out");
  CHECK(other.rule() == "dp is another; leave it out");

  const auto counted = [](const std::string& plan) {
    return evaluated(sweep_of(small_sweep(", global_batch_size: 16", plan))).refused;
  };
  using Counts = std::map<std::string, std::int64_t>;
  CHECK(counted("{vpp: [2, 4, 8]}") == Counts{{"vpp needs pp > 1", 3}});
  CHECK(counted("{dp: [16, 32]}") ==
        Counts{{"dp is not the number of GPUs / (tp * cp * pp); leave dp out, it follows", 2}});
}

TEST_CASE("Plans that are priced beyond a constraint on results are refused under it", "[unit]") {
  const std::string plans = "{tp: [1, 2, 4, 8], zero: [0, 1, 3]}";
  const ChunkResult all =
      test::evaluated(test::sweep_of(test::small_sweep(", global_batch_size: 16", plans)));
  REQUIRE(all.priced.size() > 4);
  std::vector<double> mfus;
  for (const PlanNumbers& numbers : all.priced) {
    mfus.push_back(numbers.mfu);
  }
  std::sort(mfus.begin(), mfus.end());
  const std::string least = std::to_string(mfus[mfus.size() / 2]);
  const std::string rule = "mfu >= " + least + " and peak_memory < 0.9 * capacity";
  const ChunkResult some = test::evaluated(test::sweep_of(
      test::small_sweep(", global_batch_size: 16", plans, "constraints: [\"" + rule + "\"]\n")));
  const double bar = std::stod(least);
  const auto kept =
      std::count_if(mfus.begin(), mfus.end(), [bar](double mfu) { return mfu >= bar; });
  CHECK(std::ssize(some.priced) == kept);
  CHECK(some.refused.at("constraint '" + rule + "'") == std::ssize(all.priced) - kept);
}

TEST_CASE("Days of a run can be a constraint where its length is known", "[unit]") {
  const auto sweep = [](const std::string& training) {
    return test::small_sweep(training, "{tp: [1, 2, 4, 8]}", "constraints: [\"days < 1\"]\n");
  };
  CHECK_THAT(test::sweep_error(sweep(", global_batch_size: 16")),
             test::contains_text("add training.tokens: 15T"));
  const ChunkResult short_run =
      test::evaluated(test::sweep_of(sweep(", global_batch_size: 16, tokens: 1M")));
  CHECK(short_run.refused.empty());
  const ChunkResult long_run =
      test::evaluated(test::sweep_of(sweep(", global_batch_size: 16, tokens: 900T")));
  CHECK(long_run.priced.empty());
}

}  // namespace stepcast::plan_evaluator_test
