// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/best_plan.hpp"

#include <array>
#include <mutex>
#include <utility>

#include "stepcast/base/units_text.hpp"
#include "stepcast/sweep/chunk_store.hpp"
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

// Of every chunk that it is given it keeps the best plan and the counts.
class BestOfChunks : public ChunkStore {
 public:
  explicit BestOfChunks(const SweepSpace& space) : space_(space) {}

  [[nodiscard]] bool has(std::int64_t) const override { return false; }
  [[nodiscard]] ChunkResult read(std::int64_t) const override { return {}; }
  void keep(std::int64_t, ChunkResult result) override {
    const std::scoped_lock lock(mutex_);
    for (const PlanNumbers& numbers : result.priced) {
      best_.add(numbers, space_.experiment_of(numbers.plan).cluster.gpus());
    }
    searched_.priced += std::ssize(result.priced);
    searched_.bounded += result.bounded;
    for (const auto& [reason, plans] : result.refused) {
      searched_.refused[reason] += plans;
    }
  }

  [[nodiscard]] BestPlan result() const {
    BestPlan result{searched_, std::nullopt};
    result.searched.plans = space_.size();
    for (const PlanNumbers& numbers : best_.ranked()) {
      result.best = space_.request(numbers.plan);
      result.searched.settings = settings_of(space_, numbers.plan);
    }
    return result;
  }

 private:
  const SweepSpace& space_;
  std::mutex mutex_;
  BestPlans best_{RankBy::kTokensPerSecondPerGpu, 1};
  SearchedPlans searched_;
};

}  // namespace

SweepSource with_all_plans(SweepSource experiment) {
  std::vector<std::string> own = {"plan={}"};
  const ConfigNode root = parse_config(experiment.text, experiment.name);
  const ConfigNode* plan = root.find("plan");
  for (const std::string& key : kNotSearched) {
    const ConfigNode* value = plan == nullptr ? nullptr : plan->find(key);
    if (value != nullptr) {
      own.push_back("plan." + key + "=" + flow_text(*value));
    }
  }
  experiment.overrides.insert(experiment.overrides.begin(), own.begin(), own.end());
  experiment.overrides.emplace_back("plan.all=true");
  return experiment;
}

BestPlan best_plan(const SweepSpace& space, const std::vector<CostModel>& costs, int threads,
                   const std::shared_ptr<SolvedPipelines>& pipelines) {
  BestOfChunks store(space);
  SweepRun run;
  run.grid = {space.size(), kChunk};
  run.threads = threads;
  constexpr auto kRankBy = RankBy::kTokensPerSecondPerGpu;
  run.evaluator = evaluators_of(space, costs, SearchGoal{kRankBy, 1, false, false}, pipelines);
  run_sweep(run, store, {});
  return store.result();
}

std::vector<std::string> why_no_plan(const SearchedPlans& searched) {
  std::vector<std::string> reasons;
  for (const auto& [reason, plans] : by_count(searched.refused)) {
    reasons.push_back(with_separators(plans) + " of " + with_separators(searched.plans) +
                      " plans: " + reason);
  }
  return reasons;
}

std::vector<std::pair<std::string, std::string>> settings_of(const SweepSpace& space,
                                                             std::int64_t index) {
  std::vector<std::pair<std::string, std::string>> settings;
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
