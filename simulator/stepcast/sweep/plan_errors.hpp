// SPDX-License-Identifier: Apache-2.0
// The error to expect of the plans of a sweep, and which of them the best cannot be told apart
// from. It hangs on the model, the cluster, the software and the number format, not on the plan, so
// that each is worked out once.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "stepcast/experiment/accuracy.hpp"
#include "stepcast/result/sweep_summary.hpp"
#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast {

class PlanErrors {
 public:
  // From the `known` runs (experiment/accuracy.hpp); both must outlive it.
  PlanErrors(const SweepSpace& space, const std::vector<HeldOutRun>& known);

  const ExpectedError& of(const PlanNumbers& numbers);
  // Whether the rates of two plans differ at 80 % (can_be_told_apart).
  bool told_apart(const PlanNumbers& a, const PlanNumbers& b);

 private:
  const SweepSpace* space_;
  const std::vector<HeldOutRun>* known_;
  std::map<std::pair<std::size_t, Dtype>, ExpectedError> errors_;  // by site
};

}  // namespace stepcast
