// SPDX-License-Identifier: Apache-2.0
// Simulator::sweep().

#include <algorithm>
#include <memory>
#include <mutex>

#include "stepcast/api/answered_call.hpp"
#include "stepcast/api/chosen_backends.hpp"
#include "stepcast/api/job.hpp"
#include "stepcast/api/step_numbers.hpp"
#include "stepcast/stepcast.hpp"
#include "stepcast/sweep/best_plan.hpp"
#include "stepcast/sweep/chunk_store.hpp"
#include "stepcast/sweep/plan_search.hpp"
#include "stepcast/sweep/sweep_ranking.hpp"
#include "stepcast/sweep/sweep_run.hpp"

namespace stepcast {
namespace {

std::vector<SweptPlan> swept(const std::vector<PlanNumbers>& plans, const SweepSpace& space) {
  std::vector<SweptPlan> result;
  result.reserve(plans.size());
  for (const PlanNumbers& plan : plans) {
    SweptPlan entry{{}, numbers_of(plan)};
    for (const auto& [key, value] : settings_of(space, plan.plan)) {
      entry.settings.push_back(key + "=" + value);
    }
    result.push_back(std::move(entry));
  }
  return result;
}

std::size_t top_of(const SweepSettings& settings) {
  return static_cast<std::size_t>(std::max<std::int64_t>(settings.top, 0));
}

// Adds chunks up, hands their plans on, and keeps none of them.
class TalliedChunks : public ChunkStore {
 public:
  TalliedChunks(const SweepSpace& space, const SweepSettings& settings)
      : space_(space), settings_(settings), tally_(space, top_of(settings)) {}

  [[nodiscard]] bool has(std::int64_t) const override { return false; }
  [[nodiscard]] ChunkResult read(std::int64_t) const override { return {}; }
  void keep(std::int64_t, ChunkResult result) override {
    const std::scoped_lock lock(mutex_);
    tally_.add(result);
    if (settings_.found && !result.priced.empty()) {
      settings_.found(swept(result.priced, space_));
    }
  }
  [[nodiscard]] SweepSummary summary() const { return tally_.summary(); }

 private:
  const SweepSpace& space_;
  const SweepSettings& settings_;
  std::mutex mutex_;
  SweepTally tally_;
};

SweepRun run_of(const SweepSpace& space, const std::vector<CostModel>& costs,
                const SweepSettings& settings) {
  SweepRun run;
  run.grid = chunk_grid(space.size());
  run.threads = threads_of(settings.threads);
  run.evaluator = evaluators_of(
      space, costs, settings.every_plan ? std::nullopt : goal_of(space, top_of(settings)));
  if (settings.progress) {
    run.progress = [&settings](const SweepProgress& progress) {
      settings.progress(progress.done, progress.plans);
    };
  }
  return run;
}

SweepAnswer swept_plans(const SweepSpace& space, const std::vector<CostModel>& costs,
                        const SweepSettings& settings) {
  TalliedChunks chunks(space, settings);
  SweepAnswer answer;
  answer.complete = run_sweep(run_of(space, costs, settings), chunks, settings.stop);
  const SweepSummary summary = chunks.summary();
  answer.space_size = space.size();
  answer.evaluated = summary.evaluated;
  answer.priced = summary.priced;
  answer.bounded = summary.bounded;
  answer.best = swept(summary.best, space);
  answer.memory_pareto = swept(summary.memory_front, space);
  answer.refused = by_count(summary.refused);
  return answer;
}

}  // namespace

SweepAnswer Simulator::sweep(const ExperimentSource& sweep, const SweepSettings& settings) const {
  return answer_of([&] {
    const DataRoot data{data_};
    Diagnostics diagnostics;
    check_threads(settings.threads, diagnostics);
    if (settings.top < 0) {
      diagnostics.error({"top", 0, 0}, "must be at least 0");
    }
    diagnostics.throw_if_any();
    const SweepSpace space = read_sweep(sweep_source_of(sweep), data);
    return swept_plans(space, cost_models_of(space, data), settings);
  });
}

}  // namespace stepcast
