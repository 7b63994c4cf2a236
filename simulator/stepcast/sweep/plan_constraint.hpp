// SPDX-License-Identifier: Apache-2.0
// Rules of a sweep that plans must keep: "tp <= gpus_per_node and schedule != 'gpipe'".
//
// Numbers, + - * / % ^, comparisons, `and`, `or`, `not`, parentheses, c ? a : b, and the functions
// abs, min, max, log2, sqrt, round; texts in quotes, compared with == and !=. A switch is 1 or 0.
// Rules may read what a plan is priced at, too: "peak_memory < 0.9 * capacity", "days < 30".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/config/config_node.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/result/sweep_summary.hpp"
#include "stepcast/sweep/constraint_expression.hpp"

namespace stepcast {

// Every name that a constraint may read: what a site and a price have (plan_constraint.cpp), and
// the keys of `training` and of `plan` that have one value each (plan/plan_keys.hpp).
std::span<const ConstraintName> constraint_names();

// What must be known of a plan before a constraint can be checked.
enum class ConstraintScope {
  kRequest,      // the degrees that were asked for
  kSettledPlan,  // what follows from them: dp, micro_batches ...
  kResult,       // what the plan was priced at
};

// A plan with what it was priced at.
struct PricedPlan {
  const Experiment& site;
  const TrainingRecipe& training;
  const PlanNumbers& numbers;
};

struct PlanConstraint {
  std::string text;  // as the user wrote it
  Location where;
  ConstraintExpression expression;
  ConstraintScope scope = ConstraintScope::kRequest;
};

// Problems go to `diagnostics` at their column, and give nothing.
std::vector<PlanConstraint> read_constraints(const ConfigNode& list, Diagnostics& diagnostics);
// Reports constraints on a whole run, as days are, where a site has no number of tokens to train
// on.
void check_constraints(const std::vector<PlanConstraint>& constraints,
                       const std::vector<Experiment>& sites, Diagnostics& diagnostics);

// Works constraints out, one after the other, for one thread.
class ConstraintCheck {
 public:
  // `constraints` must outlive it.
  explicit ConstraintCheck(const std::vector<PlanConstraint>& constraints);

  // Sets what is known of a site, of a request, of a settled plan, of a priced one.
  void set_site(const Experiment& site);
  void set_request(const PlanRequest& plan, const TrainingRecipe& training);
  void set_plan(const ParallelPlan& plan);
  void set_result(const PricedPlan& priced);
  // Where set_result() was given a plan at its best, with a step that it cannot beat: the
  // constraint on results that it breaks for sure, as "days < 60" is broken. Null where that is not
  // known: only the first constraint on results is looked at, so that it is the one that broken()
  // would name.
  [[nodiscard]] const PlanConstraint* surely_broken() const;
  // Whether there is one of that scope.
  [[nodiscard]] bool any(ConstraintScope scope) const;
  // Whether surely_broken() may name any.
  [[nodiscard]] bool limits_step() const;
  // The first constraint of a scope that does not hold; null if all of them hold.
  [[nodiscard]] const PlanConstraint* broken(ConstraintScope scope) const;

 private:
  [[nodiscard]] const PlanConstraint* first_on_results() const;

  const std::vector<PlanConstraint>* constraints_;
  std::vector<std::size_t> reads_;  // places of the names that any constraint reads
  std::vector<double> values_;      // of every name
};

}  // namespace stepcast
