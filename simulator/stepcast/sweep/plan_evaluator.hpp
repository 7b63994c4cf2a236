// SPDX-License-Identifier: Apache-2.0
// Prices the plans of a space: each exactly as `project` would.
//
// What costs little comes first: constraints, then whether the plan divides, then memory; only what
// passes them all is priced.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/plan_projector.hpp"
#include "stepcast/sweep/chunk_result.hpp"
#include "stepcast/sweep/plan_constraint.hpp"
#include "stepcast/sweep/same_plans.hpp"
#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast {

// One a thread.
class PlanEvaluator {
 public:
  // `costs`: of every site of `space`, which must outlive the evaluator.
  PlanEvaluator(const SweepSpace& space, std::vector<CostModel> costs);

  // The plans begin .. end - 1.
  ChunkResult evaluate(std::int64_t begin, std::int64_t end);

 private:
  void enter_site(std::size_t site);
  // The reason against the plan, or its numbers among `priced`.
  std::string evaluate_one(std::int64_t index, std::vector<PlanNumbers>& priced);

  const SweepSpace* space_;
  std::vector<CostModel> costs_;  // as given
  ConstraintCheck constraints_;
  SamePlans same_;
  SweepRequest request_;
  // The site that was met last; what its plans have in common is kept while it is.
  std::unique_ptr<Experiment> experiment_;
  std::unique_ptr<PlanProjector> projector_;
  std::optional<std::size_t> site_;
};

}  // namespace stepcast
