// SPDX-License-Identifier: Apache-2.0
// From a plan to a faster one that fits, by the best of its single changes, again and again: what a
// patient engineer would reach. Bounded by a number of plans, never by a clock, so that the same
// question has the same answer everywhere.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/plan_changes.hpp"
#include "stepcast/experiment/plan_projector.hpp"
#include "stepcast/result/sweep_summary.hpp"
#include "stepcast/schedule/solved_pipelines.hpp"
#include "stepcast/settle/settle_plan.hpp"

namespace stepcast {

// A plan that runs: that divides, fits and keeps the power limit.
struct RunningPlan {
  PlanChange change;
  ParallelPlan plan;  // settled
  StepAtClock step;
  Bytes peak_memory;
  double tokens_per_second_per_gpu = 0.0;
};

// Plans of one site, tried one after the other. For one thread.
class PlanTrials {
 public:
  // Prices are those of `cost`. The plan and the recipe of `site` do not matter. Searches of other
  // sites may use `pipelines`, too.
  PlanTrials(const Experiment& site, const CostModel& cost,
             std::shared_ptr<SolvedPipelines> pipelines = std::make_shared<SolvedPipelines>());

  // The plan if it runs.
  std::optional<RunningPlan> run(const PlanChange& change);
  // Of the plans that run the fastest, if it is faster than `than` tokens/s/GPU; of equal ones the
  // first. Plans that a bound of their step leaves no place for are not priced.
  std::optional<RunningPlan> fastest(const std::vector<PlanChange>& changes, double than);
  // Of those that divide the one that needs the least memory, if it needs less than `than`.
  struct Lightest {
    PlanChange change;
    ParallelPlan plan;
    Bytes needs;  // of its fullest rank
  };
  std::optional<Lightest> lightest(const std::vector<PlanChange>& changes, Bytes than);

  ResolvedPlan settled(const PlanChange& change);
  [[nodiscard]] const Experiment& site() const { return *site_; }
  // Plans that were settled so far.
  [[nodiscard]] std::int64_t tried() const { return tried_; }
  // What became of those that run() and fastest() looked at; no settings.
  [[nodiscard]] const SearchedPlans& searched() const { return searched_; }

 private:
  // A plan that divides and may be faster than another one: its step is at least this.
  struct Candidate {
    std::size_t index = 0;
    ParallelPlan plan;
    double at_most = 0.0;  // tokens/s/GPU
  };
  void refuse(std::string_view reason);
  std::vector<Candidate> candidates(const std::vector<PlanChange>& changes, double than);
  std::optional<RunningPlan> priced(const PlanChange& change, const ParallelPlan& plan,
                                    double than);

  std::unique_ptr<const Experiment> site_;  // stays where it is, as kept prices ask
  std::unique_ptr<PlanProjector> projector_;
  std::int64_t tried_ = 0;
  SearchedPlans searched_;
};

// Plans from which climbs reach most of a space: pipelines of up to 16 ranks with ZeRO 1, each with
//  the experts over a node and over eight of them; and the usual plan (settle_plan.hpp), where
// nothing of a plan is kept.
std::vector<PlanChange> usual_starts(const Experiment& site, const KeySet& kept);

// Plans that a quick search tries, which takes about half a second.
inline constexpr std::int64_t kQuickSearch = 3'000;

// The best of climbs from each of `starts`, one after the other until `most` plans were tried.
std::optional<RunningPlan> climb_from(PlanTrials& trials, const std::vector<PlanChange>& starts,
                                      const KeySet& kept, std::int64_t most = kQuickSearch);

// Where a climb starts: a plan, and what must not be touched.
struct ClimbStart {
  PlanChange change;
  KeySet kept{};
};

// A plan that runs near one that does not: of the first plan that has one among its single changes
// the fastest, starting with the plan itself and going on with the change that needs the least
// memory. Nothing where no change needs less, or `most` plans were tried.
std::optional<RunningPlan> first_that_runs(PlanTrials& trials, const ClimbStart& start,
                                           std::int64_t most);

// The plan at the top: no single change of it is faster, or `most` plans were tried on the way. A
// start that does not run is first brought to one that does. Nothing where none was met.
std::optional<RunningPlan> climb(PlanTrials& trials, const ClimbStart& start, std::int64_t most);

}  // namespace stepcast
