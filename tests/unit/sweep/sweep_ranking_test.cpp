// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/sweep_ranking.hpp"

#include <algorithm>
#include <random>

#include "catch.hpp"
#include "sweep_text.hpp"

namespace stepcast::sweep_ranking_test {
namespace {

// Plans whose numbers are few small integers, so that there are ties.
std::vector<PlanNumbers> random_plans(unsigned seed, int count, int values) {
  std::mt19937 engine(seed);
  std::vector<PlanNumbers> plans;
  for (int i = 0; i < count; ++i) {
    PlanNumbers numbers;
    numbers.plan = i;
    numbers.tokens_per_second_per_gpu =
        static_cast<double>(engine() % static_cast<unsigned>(values));
    numbers.peak_memory = Bytes(static_cast<double>(engine() % static_cast<unsigned>(values)));
    numbers.step = Seconds(static_cast<double>(engine() % static_cast<unsigned>(values)));
    plans.push_back(numbers);
  }
  std::shuffle(plans.begin(), plans.end(), engine);
  return plans;
}

std::vector<std::int64_t> indices(const std::vector<PlanNumbers>& plans) {
  std::vector<std::int64_t> found;
  for (const PlanNumbers& plan : plans) {
    found.push_back(plan.plan);
  }
  return found;
}

bool beats(const PlanNumbers& a, const PlanNumbers& b) {
  const bool as_good =
      a.tokens_per_second_per_gpu >= b.tokens_per_second_per_gpu && a.peak_memory <= b.peak_memory;
  const bool better =
      a.tokens_per_second_per_gpu > b.tokens_per_second_per_gpu || a.peak_memory < b.peak_memory;
  return as_good && (better || a.plan < b.plan);
}

}  // namespace

TEST_CASE("The best plans are those that sorting all of them finds", "[property]") {
  const auto seed = GENERATE(range(0U, 40U));
  const int values = seed % 2 == 0 ? 4 : 1000;
  std::vector<PlanNumbers> plans = random_plans(seed, 100, values);
  for (const RankBy rank_by : {RankBy::kTokensPerSecondPerGpu, RankBy::kStepTime,
                               RankBy::kPeakMemory, RankBy::kTokensPerSecond}) {
    const bool less_is_better = rank_by == RankBy::kStepTime || rank_by == RankBy::kPeakMemory;
    for (const std::size_t most : {std::size_t{0}, std::size_t{1}, std::size_t{7}, kAllPlans}) {
      BestPlans best(rank_by, most);
      for (const PlanNumbers& plan : plans) {
        best.add(plan, 8);
      }
      std::vector<PlanNumbers> sorted = plans;
      std::sort(sorted.begin(), sorted.end(), [&](const auto& a, const auto& b) {
        const double x = ranked_number(rank_by, a, 8);
        const double y = ranked_number(rank_by, b, 8);
        if (x != y) {
          return less_is_better ? x < y : x > y;
        }
        return a.plan < b.plan;
      });
      sorted.resize(std::min(most, sorted.size()));
      CHECK(indices(best.ranked()) == indices(sorted));
    }
  }
}

TEST_CASE("The Pareto front is what comparing every pair finds", "[property]") {
  const auto seed = GENERATE(range(0U, 60U));
  const int values = seed % 3 == 0 ? 3 : seed % 3 == 1 ? 12 : 100'000;
  const std::vector<PlanNumbers> plans = random_plans(seed, 150, values);
  ParetoFront front;
  for (const PlanNumbers& plan : plans) {
    front.add(plan.tokens_per_second_per_gpu, plan.peak_memory.value(), plan);
  }
  std::vector<PlanNumbers> expected;
  for (const PlanNumbers& plan : plans) {
    const bool beaten = std::any_of(plans.begin(), plans.end(), [&plan](const PlanNumbers& other) {
      return other.plan != plan.plan && beats(other, plan);
    });
    if (!beaten) {
      expected.push_back(plan);
    }
  }
  std::sort(expected.begin(), expected.end(),
            [](const auto& a, const auto& b) { return a.peak_memory < b.peak_memory; });
  CHECK(indices(front.plans()) == indices(expected));
}

TEST_CASE("A tally is the same in whatever order chunks come", "[unit]") {
  const SweepSpace space =
      test::sweep_of(test::small_sweep(", global_batch_size: 32, micro_batch_size: [1, 2]",
                                       "{tp: [1, 2, 4], pp: [1, 2]}", "") +
                         "description: sites\n",
                     {"cluster.nodes=[1, 2]"});
  SweepTally forward(space, 3);
  SweepTally backward(space, 3);
  for (std::int64_t i = 0; i < space.size(); ++i) {
    forward.add(test::evaluated(space, i, i + 1));
    backward.add(test::evaluated(space, space.size() - 1 - i, space.size() - i));
  }
  const SweepSummary a = forward.summary();
  const SweepSummary b = backward.summary();
  CHECK(a.evaluated == space.size());
  CHECK(a.refused == b.refused);
  CHECK(indices(a.best) == indices(b.best));
  CHECK(a.best.size() == 3);
  CHECK(indices(a.memory_front) == indices(b.memory_front));
  CHECK(indices(a.gpu_front) == indices(b.gpu_front));
  // One plan a cluster size at most.
  CHECK(a.gpu_front.size() <= 2);
  CHECK_FALSE(a.gpu_front.empty());
}

TEST_CASE("Every number to rank by has a name", "[unit]") {
  for (std::size_t i = 0; i < names_of<RankBy>().size(); ++i) {
    CHECK(name(static_cast<RankBy>(i)) == names_of<RankBy>()[i]);
  }
  PlanNumbers numbers;
  numbers.tokens_per_second_per_gpu = 100.0;
  numbers.power = Watts(500.0);
  CHECK(ranked_number(RankBy::kTokensPerSecond, numbers, 8) == 800.0);
  CHECK(ranked_number(RankBy::kTokensPerJoule, numbers, 8) == 0.2);
}

}  // namespace stepcast::sweep_ranking_test
