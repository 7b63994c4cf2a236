// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/plan_search.hpp"

#include "stepcast/sweep/incumbent_search.hpp"
#include "stepcast/sweep/plan_evaluator.hpp"

namespace stepcast {

std::optional<SearchGoal> goal_of(const SweepSpace& space, std::size_t top) {
  if (!can_be_bounded(space.rank_by())) {
    return std::nullopt;
  }
  return SearchGoal{space.rank_by(), top, true, space.gpus_vary()};
}

MakeEvaluator evaluators_of(const SweepSpace& space, const std::vector<CostModel>& costs,
                            const std::optional<SearchGoal>& goal) {
  if (!goal) {
    return [&space, &costs] {
      return [evaluator = std::make_shared<PlanEvaluator>(space, costs)](
                 std::int64_t begin, std::int64_t end) { return evaluator->evaluate(begin, end); };
    };
  }
  PlanEvaluator first(space, costs);
  const auto known = std::make_shared<const Incumbents>(first_incumbents(space, first, *goal));
  return [&space, &costs, known] {
    return [evaluator = std::make_shared<PlanEvaluator>(space, costs), known](std::int64_t begin,
                                                                              std::int64_t end) {
      Incumbents own = *known;
      return evaluator->search(begin, end, own);
    };
  };
}

}  // namespace stepcast
