// SPDX-License-Identifier: Apache-2.0
// A sweep keeps what its plans have in common and looks at what costs little first; neither may
// change a number.
#include <algorithm>
#include <random>

#include "catch.hpp"
#include "property/draws.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/settle/settle_plan.hpp"
#include "sweep_text.hpp"

namespace stepcast::sweep_property_test {
namespace {

constexpr std::int64_t kWindow = 12;                // neighbours, which share most
const int kWindows = std::max(3, test::draws(28));  // a sweep: 336 plans, 1,008 of three sweeps

SweepSpace shipped_sweep(const std::string& name) {
  return read_sweep(
      load_sweep_source(test::data_root().folder / "configs/sweeps" / (name + ".yaml"), {}, "test"),
      test::data_root());
}

void check_same(const PlanNumbers& numbers, const Projection& alone) {
  REQUIRE(alone.feasible());
  CHECK(numbers.tokens_per_second_per_gpu == alone.tokens_per_second_per_gpu);
  CHECK(numbers.step == alone.time.step);
  CHECK(numbers.model_rate_per_gpu == alone.model_rate_per_gpu);
  CHECK(numbers.mfu == alone.mfu);
  CHECK(numbers.peak_memory == alone.peak_memory());
  CHECK(numbers.clock == alone.clock);
  CHECK(numbers.power == alone.power);
  const TimeBreakdown& time = alone.time.breakdown;
  CHECK(numbers.time.compute == time.compute);
  CHECK(numbers.time.contention == time.contention);
  CHECK(numbers.time.exposed == time.exposed);
  CHECK(numbers.time.bubble == time.bubble);
  CHECK(numbers.time.optimizer == time.optimizer);
  CHECK(numbers.time.host == time.host);
}

// What project says of a plan that the sweep only counts: that it cannot run, for the same reason,
// or that its memory is tight.
// Constraints and repetitions are matters of the sweep alone.
void check_refused(const std::string& reason, const Experiment& experiment,
                   const Projection& alone) {
  if (reason.starts_with("constraint ") || reason == kSamePlan) {
    return;
  }
  CHECK(alone.priced == (reason == kRefusedByMemory));
  if (alone.priced) {
    CHECK_FALSE(is_sure(alone.memory));  // tight where project says that it may run
  } else {
    CHECK_FALSE(alone.feasible());
    REQUIRE_FALSE(alone.reasons.empty());
    const Reason first = settle_plan(experiment.plan, experiment.model, experiment.training,
                                     experiment.cluster, experiment.software)
                             .reasons.at(0);
    CHECK(first.text() == alone.reasons.front());
    CHECK(first.rule() == reason);
  }
}

struct Drawn {
  std::int64_t priced = 0;
  std::int64_t refused = 0;
};

// Each window whole, in another order than that in which they are looked at again.
Drawn check_drawn_plans(const SweepSpace& space, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::int64_t> starts;
  for (int i = 0; i < kWindows; ++i) {
    starts.push_back(static_cast<std::int64_t>(
        random() % static_cast<std::uint64_t>(space.size() - kWindow + 1)));
  }
  PlanEvaluator evaluator(space, {space.sites().size(), default_cost_model()},
                          std::make_shared<SolvedPipelines>());
  std::map<std::int64_t, PlanNumbers> priced;
  for (const std::int64_t start : starts) {
    for (const PlanNumbers& numbers : evaluator.evaluate(start, start + kWindow).priced) {
      priced.emplace(numbers.plan, numbers);
    }
  }
  Drawn drawn;
  std::sort(starts.rbegin(), starts.rend());
  for (const std::int64_t start : starts) {
    for (std::int64_t index = start; index < start + kWindow; ++index) {
      INFO("plan " << index);
      const Experiment experiment = space.experiment(index);
      const Projection alone = project(experiment, default_cost_model());
      const ChunkResult again = evaluator.evaluate(index, index + 1);
      const auto known = priced.find(index);
      REQUIRE(again.priced.size() == (known == priced.end() ? 0 : 1));
      if (known == priced.end()) {
        check_refused(again.refused.begin()->first, experiment, alone);
        ++drawn.refused;
        continue;
      }
      check_same(known->second, alone);
      check_same(again.priced.front(), alone);
      ++drawn.priced;
    }
  }
  return drawn;
}

}  // namespace

TEST_CASE("Plans drawn from a sweep have the numbers of project, bit for bit", "[property]") {
  const auto [name, least_priced] = GENERATE(table<std::string, int>({{"llama3_70b_512_h100", 50},
                                                                      {"gpt3_175b_512_a100", 50},
                                                                      {"deepseek_v3_2048_h800", 50},
                                                                      {"glm5_1024_h100", 50}}));
  CAPTURE(name);
  const Drawn drawn = check_drawn_plans(shipped_sweep(name), 20240607);
  CHECK(drawn.priced + drawn.refused == kWindows * kWindow);
  CHECK(drawn.priced >= test::draws(least_priced));
  CHECK(drawn.refused > 0);
}

TEST_CASE("Plans in every order of ranks have the numbers of project, bit for bit", "[property]") {
  const SweepSpace space = test::sweep_of(
      "model: deepseek_v2_lite\ncluster: {gpu: h100_sxm, nodes: 4}\n"
      "training: {sequence_length: 4096, global_batch_size: 128, dtype: bf16}\n"
      "plan: {order: [tp-cp-ep-dp-pp, tp-cp-dp-ep-pp, tp-cp-ep-pp-dp, pp-ep-dp-cp-tp],"
      " tp: [1, 2], cp: [1, 2], pp: [1, 3, 9], ep: [4, 8, 16], zero: [0, 1, 3]}\n");
  const Drawn drawn = check_drawn_plans(space, 20261124);
  CHECK(drawn.priced + drawn.refused == kWindows * kWindow);
  CHECK(drawn.priced > 0);
}

}  // namespace stepcast::sweep_property_test
