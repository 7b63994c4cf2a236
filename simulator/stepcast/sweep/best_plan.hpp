// SPDX-License-Identifier: Apache-2.0
// The plan of an experiment with the most tokens/s/GPU among all that training frameworks offer.
//
// Looked at are the space `plan: all` of the experiment (sweep_defaults.hpp) and what lies around
// its best plan: every single change of it (plan_changes.hpp), again and again. Micro-batch and
// recomputation are searched, too, whatever the experiment says of them. What is given on top of
// the experiment, as options of the command line are, is kept.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/plan_changes.hpp"
#include "stepcast/experiment/plan_climb.hpp"
#include "stepcast/result/sweep_summary.hpp"
#include "stepcast/schedule/solved_pipelines.hpp"
#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast {

struct BestPlan {
  SearchedPlans searched;
  std::optional<SweepRequest> best;  // nothing where every plan is refused
  double tokens_per_second_per_gpu = 0.0;
  std::int64_t plan = -1;   // of the space, that it is or was reached from
  bool from_given = false;  // reached from the experiment's own plan, on top of which settings are
};

// The keys that overrides give, as "plan.tp"; of a mapping that one sets, every key inside.
KeySet overridden_keys(const std::vector<Override>& overrides);

// The keys that a search for the best plan of `experiment` keeps: those of its plan, its
// micro-batch and its recomputation that its overrides give, and its dispatcher, but for those that
// are `free`.
KeySet kept_keys(const SweepSource& experiment, const KeySet& free);

// Whether an experiment says which dispatcher it uses.
bool states_dispatcher(const ConfigNode& root);

// The full name of a key that a search chooses, of its name with or without its section ("tp",
// "recompute", "mbs"); nothing of any other.
std::optional<std::string> searched_key(std::string_view name);
// All of them.
std::vector<std::string> searched_keys();

// The experiment of `experiment` as a sweep over all plans but for the keys that are kept. Its own
// plan is replaced but for `dispatcher`, where that is not `free`, and `overlap`. Plans must fit
// with all that they reserve, unless a margin of memory is given.
SweepSource with_all_plans(SweepSource experiment, const KeySet& free = {});

// What makes the best plan of the experiment of `experiment`, as --set takes it: `found` has what
// makes it of the space's, without the plan of the file.
PlanSettings settings_on(const SweepSource& experiment, const KeySet& free, const BestPlan& found);

// What a search is given beside its space.
struct PlanQuestion {
  KeySet kept{};  // keys that no change may touch
  // An experiment whose own plan is a start, too, at the prices of the first site.
  std::optional<Experiment> given{};
};

// Looks around the plan that is given, around a likely best plan of the space and, where no
// constraints leave that out, around its best one, beside every plan of the space; of two of these
// that are as fast the one with the smaller index is it. Searches of other spaces may use
// `pipelines`, too.
BestPlan best_plan(
    const SweepSpace& space, const std::vector<CostModel>& costs, int threads,
    const PlanQuestion& question = {},
    const std::shared_ptr<SolvedPipelines>& pipelines = std::make_shared<SolvedPipelines>());

// What climbs find: from `near`, plans of other numbers of GPUs, and, where `widely`, from the
// usual starts and by descents (plan_search.hpp), which keep the constraints of the space. Likely
// the best plan, sooner. `searched` counts the plans that were looked at. By one thread.
struct LikelySearch {
  KeySet kept{};
  std::vector<PlanChange> near{};
  bool widely = true;
};
BestPlan likely_best_plan(const SweepSpace& space, const std::vector<CostModel>& costs,
                          const LikelySearch& search,
                          const std::shared_ptr<SolvedPipelines>& pipelines);

// Of a space of at most so many plans the best one is found about as soon as a likely one.
inline constexpr std::int64_t kSoonSearched = 65'536;

// The values that the axes of a space have at a plan, by key; a key that a value does not set has
// none.
PlanSettings settings_of(const SweepSpace& space, std::int64_t index);

// Why there is none, a line each.
std::vector<std::string> why_no_plan(const SearchedPlans& searched);

}  // namespace stepcast
