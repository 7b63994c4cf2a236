// SPDX-License-Identifier: Apache-2.0
// A plan of a space as it runs: what is asked of it, its settled plan, and its memory.
#pragma once

#include <vector>

#include "stepcast/memory/stage_memory.hpp"
#include "stepcast/plan/parallel_plan.hpp"
#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast {

struct SettledRequest {
  SweepRequest request;
  const Experiment* site = nullptr;  // of the space
  ParallelPlan plan;
};

// Of the plan of an index, which must divide.
SettledRequest settled_request(const SweepSpace& space, std::int64_t index);

// Of every pipeline rank, with verdicts: as a report of the plan alone has it.
std::vector<StageMemory> memory_of(const SettledRequest& settled);

}  // namespace stepcast
