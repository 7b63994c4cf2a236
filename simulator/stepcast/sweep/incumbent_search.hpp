// SPDX-License-Identifier: Apache-2.0
// Good plans of a space, found by looking at few of them: where a search begins.
//
// A sample that is spread over the space, then coordinate descent: from the best plan so far, every
// value of one axis after the other, until no axis has a better one. Descents for the best plan in
// a ladder of memory sizes find the Pareto set about as well as the best plans. What is found
// follows from the space and the goal alone, so every thread and every shard begins with the same.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/sweep/incumbents.hpp"
#include "stepcast/sweep/plan_evaluator.hpp"

namespace stepcast {

Incumbents first_incumbents(const SweepSpace& space, PlanEvaluator& evaluator,
                            const SearchGoal& goal);

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
