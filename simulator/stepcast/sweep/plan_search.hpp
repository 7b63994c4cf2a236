// SPDX-License-Identifier: Apache-2.0
// What a sweep is asked for, and the evaluators of its chunks that find it.
//
// Where only the best plans and the Pareto sets are wanted, plans that a bound of their step time
// and of their memory leaves no place for are not priced (incumbents.hpp). Each chunk begins with
// the same plans, those that a short search finds, and adds its own: what it gives follows from its
// number alone, whatever the threads, the shards and interruptions.
//
// The short search looks at a sample that is spread over the space, then descends by coordinates:
// from the best plan so far, every value of one axis after the other, until no axis has a better
// one. Descents for the best plan in a ladder of memory sizes find the Pareto set about as well as
// the best plans. What is found follows from the space and the goal alone.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/schedule/solved_pipelines.hpp"
#include "stepcast/sweep/incumbents.hpp"
#include "stepcast/sweep/plan_evaluator.hpp"
#include "stepcast/sweep/sweep_run.hpp"
#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast {

// The goal of a sweep whose report has the `top` best plans; nothing where the number by which
// they are ranked has no bound, so that every plan is priced.
std::optional<SearchGoal> goal_of(const SweepSpace& space, std::size_t top);

// Evaluators of chunks of `space` that reach `goal`; without one they price every plan. `costs`: of
// every site. Both must outlive the evaluators. Searches of other spaces may use `pipelines`, too.
MakeEvaluator evaluators_of(
    const SweepSpace& space, const std::vector<CostModel>& costs,
    const std::optional<SearchGoal>& goal,
    const std::shared_ptr<SolvedPipelines>& pipelines = std::make_shared<SolvedPipelines>());

// The same with plans that are known already in the place of a short search; they need not be of
// the space.
MakeEvaluator evaluators_beside(const SweepSpace& space, const std::vector<CostModel>& costs,
                                const Incumbents& known,
                                const std::shared_ptr<SolvedPipelines>& pipelines);

// Where descents begin: at plans of the space, and at the best of a sample.
struct DescentStarts {
  std::vector<std::int64_t> plans;
  bool sample = true;
};

// What descents find: likely, not surely, the best plan of the space.
struct LikelyBest {
  std::optional<PlanNumbers> best;
  std::int64_t looked_at = 0;                   // plans
  std::map<std::string, std::int64_t> refused;  // of these: reason -> plans
};
LikelyBest likely_best(const SweepSpace& space, PlanEvaluator& evaluator, RankBy rank_by,
                       const DescentStarts& starts);

}  // namespace stepcast
