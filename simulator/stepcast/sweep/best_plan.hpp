// SPDX-License-Identifier: Apache-2.0
// The plan of an experiment with the most tokens/s/GPU among all that training frameworks offer.
//
// The space is `plan: all` of the experiment (sweep_defaults.hpp), so that what it leaves out of
// its training section, as the micro-batch, is searched too, and what it gives is kept.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/result/sweep_summary.hpp"
#include "stepcast/schedule/solved_pipelines.hpp"
#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast {

struct BestPlan {
  SearchedPlans searched;
  std::optional<SweepRequest> best;  // nothing where every plan is refused
};

// The experiment of `experiment` as a sweep over all plans. Its own plan is replaced but
// for what is not searched, `dispatcher` and `overlap`; the keys of `plan` that its overrides give
// narrow the space. Plans must fit with all that they reserve, unless a margin of memory is given.
SweepSource with_all_plans(SweepSource experiment);

// Looks at every plan of the space; of two that are as fast the one with the smaller index is it.
// Searches of other spaces may use `pipelines`, too.
BestPlan best_plan(
    const SweepSpace& space, const std::vector<CostModel>& costs, int threads,
    const std::shared_ptr<SolvedPipelines>& pipelines = std::make_shared<SolvedPipelines>());

// As --set takes them: {"plan.tp", "8"}.
using PlanSettings = std::vector<std::pair<std::string, std::string>>;

// Where a search of a space begins.
struct NearPlans {
  std::vector<PlanSettings> settings;  // of other spaces, as settings_of gives them
  bool sample = true;                  // and at a sample of the space
};

// The same by descents (plan_search.hpp): likely the best plan, sooner. `searched` counts the
// plans that were looked at. By one thread.
BestPlan likely_best_plan(const SweepSpace& space, const std::vector<CostModel>& costs,
                          const std::shared_ptr<SolvedPipelines>& pipelines, const NearPlans& near);

// Of a space of at most so many plans the best one is found about as soon as a likely one.
inline constexpr std::int64_t kSoonSearched = 65'536;

// The values that the axes of a space have at a plan, by key; a key that a value does not set has
// none.
PlanSettings settings_of(const SweepSpace& space, std::int64_t index);

// Why there is none, a line each.
std::vector<std::string> why_no_plan(const SearchedPlans& searched);

}  // namespace stepcast
