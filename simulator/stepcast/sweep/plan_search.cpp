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
                            const std::optional<SearchGoal>& goal,
                            const std::shared_ptr<SolvedPipelines>& pipelines) {
  const auto make = [&space, &costs, pipelines] {
    return std::make_shared<PlanEvaluator>(space, costs, pipelines);
  };
  if (!goal) {
    return [make] {
      return [evaluator = make()](std::int64_t begin, std::int64_t end) {
        return evaluator->evaluate(begin, end);
      };
    };
  }
  const auto known = std::make_shared<const Incumbents>(first_incumbents(space, *make(), *goal));
  return [make, known] {
    return [evaluator = make(), known](std::int64_t begin, std::int64_t end) {
      Incumbents own = *known;
      return evaluator->search(begin, end, own);
    };
  };
}

}  // namespace stepcast
