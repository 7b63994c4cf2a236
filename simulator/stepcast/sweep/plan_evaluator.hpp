// SPDX-License-Identifier: Apache-2.0
// Prices the plans of a space: each exactly as `project` would.
//
// What costs little comes first: constraints, then whether the plan divides, then floors of its
// memory and its step, which a constraint may refuse already, then memory; only what passes them
// all is priced.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/plan_projector.hpp"
#include "stepcast/result/sweep_summary.hpp"
#include "stepcast/settle/settle_plan.hpp"
#include "stepcast/sweep/degree_refusals.hpp"
#include "stepcast/sweep/incumbents.hpp"
#include "stepcast/sweep/plan_constraint.hpp"
#include "stepcast/sweep/same_plans.hpp"
#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast {

// One a thread.
class PlanEvaluator {
 public:
  // `costs`: of every site of `space`, which must outlive the evaluator. Other evaluators may use
  // `pipelines`, too.
  PlanEvaluator(const SweepSpace& space, std::vector<CostModel> costs,
                std::shared_ptr<SolvedPipelines> pipelines);

  // The plans begin .. end - 1, every one but for those that `known`, if it is given, and what is
  // priced on the way leave no place for: they are counted as bounded away. Plans that are priced
  // are added to `known`.
  ChunkResult evaluate(std::int64_t begin, std::int64_t end, Incumbents* known = nullptr);
  // Of the same plans those that are refused, one by one. `priced`: the plans, by index, that are
  // not for sure; any other is priced where only its price can say so.
  std::vector<RefusedPlan> refused(std::int64_t begin, std::int64_t end,
                                   const std::vector<PlanNumbers>& priced);

 private:
  void enter_site(std::size_t site);
  // Adds the plan to `result`. `known`: null where every plan is priced.
  void evaluate_one(std::int64_t index, Incumbents* known, ChunkResult& result);
  // The reason against the plan, or nothing and the plan is taken by the projector.
  std::string reason_against(std::int64_t index);
  // The same, with memory, power and constraints on results; nothing for a plan that can run.
  std::string reason_to_refuse(std::int64_t index);
  enum class Verdict { kOpen, kDoesNotFit, kBoundedAway, kBreaksConstraint };
  // What floors of its memory and its step say of the plan that is taken; while it is open, the
  // memory from which on there is no place for it.
  Verdict judge_by_floors(const Incumbents& known, std::optional<Bytes>& too_much);
  // The same with its memory, which is found if it is open.
  Verdict judge(const Incumbents* known, std::vector<StageMemory>& memory);
  // The constraint on results that the plan that is taken breaks however fast it may be.
  const PlanConstraint* surely_broken();
  // The plan that is taken at best, if its step and its peak memory are no less than these.
  [[nodiscard]] PlanNumbers at_best(Seconds step, Bytes peak);

  // The number of the rule that refuses the plan, where that is known from plans before it;
  // negative where it is not.
  int known_rule(std::int64_t index);
  // Keeps why the plan, as it was resolved, is refused.
  void keep_rule(std::int64_t index);

  const SweepSpace* space_;
  std::vector<CostModel> costs_;  // as given
  ConstraintCheck constraints_;
  SamePlans same_;
  SweepRequest request_;
  ResolvedPlan resolved_;  // of the request
  std::shared_ptr<SolvedPipelines> pipelines_;
  // What the plans of a site have in common, of the sites that were met last.
  struct MetSite {
    std::size_t site = 0;
    std::unique_ptr<Experiment> experiment;
    std::unique_ptr<PlanProjector> projector;
    DegreeRefusals refusals;
  };
  std::vector<MetSite> met_;
  DegreePlaces places_;
  std::vector<std::string> rules_;  // that plans were refused for because of their degrees
  // Of the site of the plan that is looked at.
  Experiment* experiment_ = nullptr;
  PlanProjector* projector_ = nullptr;
};

}  // namespace stepcast
