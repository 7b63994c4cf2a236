// SPDX-License-Identifier: Apache-2.0
// What reports of a sweep say of its plans beside their numbers: the plan as it runs, its memory,
// the error to expect and the assumptions that the numbers rest on.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "stepcast/experiment/accuracy.hpp"
#include "stepcast/memory/stage_memory.hpp"
#include "stepcast/result/sweep_summary.hpp"
#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast {

// The errors to expect, and which plans the best cannot be told apart from. An error hangs on the
// model, the cluster, the software and the number format, not on the plan, so that each is worked
// out once.
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

// What is asked of a plan, and what it is settled to.
struct SettledRequest {
  SweepRequest request;
  const Experiment* site = nullptr;  // of the space
  ParallelPlan plan;
};

// Of the plan of an index, which must divide.
SettledRequest settled_request(const SweepSpace& space, std::int64_t index);

// Of every pipeline rank, with verdicts: as a report of the plan alone has it.
std::vector<StageMemory> memory_of(const SettledRequest& settled);

// What `project` would note of the best plans and of the Pareto sets, each note once.
std::vector<std::string> sweep_notes(const SweepSpace& space, const SweepSummary& summary);

}  // namespace stepcast
