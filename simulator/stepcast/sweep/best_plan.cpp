// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/best_plan.hpp"

#include <algorithm>
#include <array>

#include "stepcast/base/each_of.hpp"
#include "stepcast/base/sum.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/sweep/chunk_store.hpp"
#include "stepcast/sweep/plan_evaluator.hpp"
#include "stepcast/sweep/plan_search.hpp"
#include "stepcast/sweep/sweep_axes.hpp"
#include "stepcast/sweep/sweep_ranking.hpp"
#include "stepcast/sweep/sweep_run.hpp"

namespace stepcast {
namespace {

// Small, since spaces of one experiment are, and every thread should have a part.
constexpr std::int64_t kChunk = 256;

// Keys of a plan that say how software works rather than how to divide: they are kept.
const std::array<std::string, 2> kNotSearched = {"dispatcher", "overlap"};

// How many keys of an axis have the text at one of its values that `settings` gives them.
std::int64_t agreeing(const SweepAxis& axis, std::size_t value, const PlanSettings& settings) {
  std::int64_t keys = 0;
  for (std::size_t key = 0; key < axis.keys.size(); ++key) {
    const auto set = std::ranges::find_if(
        settings, [&](const auto& given) { return given.first == axis.keys[key]; });
    const std::string text = set == settings.end() ? std::string() : set->second;
    keys += axis.values[value][key] == text ? 1 : 0;
  }
  return keys;
}

// The plan that agrees with the settings in the most keys of each axis.
std::int64_t nearest_plan(const SweepSpace& space, const PlanSettings& settings) {
  std::int64_t plan = 0;
  for (std::size_t i = 0; i < space.axes().size(); ++i) {
    const SweepAxis& axis = space.axes()[i];
    std::size_t nearest = 0;
    for (std::size_t value = 1; value < axis.values.size(); ++value) {
      if (agreeing(axis, value, settings) > agreeing(axis, nearest, settings)) {
        nearest = value;
      }
    }
    plan += static_cast<std::int64_t>(nearest) * space.stride(i);
  }
  return plan;
}

void take_best(const SweepSpace& space, const PlanNumbers& best, BestPlan& result) {
  result.best = space.request(best.plan);
  result.searched.settings = settings_of(space, best.plan);
}

}  // namespace

SweepSource with_all_plans(SweepSource experiment) {
  std::vector<Override> own = {"plan={}"};
  const ConfigNode root = parse_config(experiment.text, experiment.name);
  // Of many plans one that is sure to fit is wanted: what it reserves is there.
  const ConfigNode* cluster = root.find("cluster");
  if (cluster == nullptr || cluster->find("memory_margin") == nullptr) {
    own.emplace_back("cluster.memory_margin=0");
  }
  const ConfigNode* plan = root.find("plan");
  for (const std::string& key : kNotSearched) {
    const ConfigNode* value = plan == nullptr ? nullptr : plan->find(key);
    if (value != nullptr) {
      own.emplace_back("plan." + key + "=" + flow_text(*value));
    }
  }
  experiment.overrides.insert(experiment.overrides.begin(), own.begin(), own.end());
  experiment.overrides.emplace_back("plan.all=offered");
  return experiment;
}

BestPlan best_plan(const SweepSpace& space, const std::vector<CostModel>& costs, int threads,
                   const std::shared_ptr<SolvedPipelines>& pipelines) {
  TalliedChunks store(space, 1, [](const std::vector<PlanNumbers>&) {});
  SweepRun run;
  run.grid = {space.size(), kChunk};
  run.threads = threads;
  constexpr auto kRankBy = RankBy::kTokensPerSecondPerGpu;
  run.evaluator = evaluators_of(space, costs, SearchGoal{kRankBy, 1, false, false}, pipelines);
  run_sweep(run, store, {});
  const SweepSummary summary = store.summary();
  BestPlan result{{space.size(), summary.priced, summary.bounded, summary.refused, {}}, {}};
  if (!summary.best.empty()) {
    take_best(space, summary.best.front(), result);
  }
  return result;
}

BestPlan likely_best_plan(const SweepSpace& space, const std::vector<CostModel>& costs,
                          const std::shared_ptr<SolvedPipelines>& pipelines,
                          const NearPlans& near) {
  PlanEvaluator evaluator(space, costs, pipelines);
  DescentStarts starts{{}, near.sample};
  for (const PlanSettings& settings : near.settings) {
    starts.plans.push_back(nearest_plan(space, settings));
  }
  const LikelyBest found = likely_best(space, evaluator, RankBy::kTokensPerSecondPerGpu, starts);
  BestPlan result;
  result.searched.plans = found.looked_at;
  result.searched.refused = found.refused;
  result.searched.priced =
      found.looked_at - sum_over(found.refused, [](const auto& entry) { return entry.second; });
  if (found.best) {
    take_best(space, *found.best, result);
  }
  return result;
}

std::vector<std::string> why_no_plan(const SearchedPlans& searched) {
  return each_of(by_count(searched.refused), [&searched](const auto& refused) {
    return with_separators(refused.second) + " of " + with_separators(searched.plans) +
           " plans: " + refused.first;
  });
}

PlanSettings settings_of(const SweepSpace& space, std::int64_t index) {
  PlanSettings settings;
  for (std::size_t i = 0; i < space.axes().size(); ++i) {
    const SweepAxis& axis = space.axes()[i];
    const std::vector<std::string>& texts = axis.values[space.digit(index, i)];
    for (std::size_t key = 0; key < texts.size(); ++key) {
      if (!texts[key].empty()) {
        settings.emplace_back(axis.keys[key], texts[key]);
      }
    }
  }
  return settings;
}

}  // namespace stepcast
