// SPDX-License-Identifier: Apache-2.0
// Plans of a search that are known, and which other plans they leave no place for.
//
// A plan of which only bounds are known can be left out where it is surely neither among the best
// nor in a Pareto set: where `top` plans are better than it could be at best, and one has more
// tokens/s/GPU than it could have in no more memory than it needs at least. What is left out
// changes no result: whatever beats it at its bounds beats it in truth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "stepcast/sweep/rank_by.hpp"
#include "stepcast/sweep/sweep_ranking.hpp"

namespace stepcast {

// What a search is asked for.
struct SearchGoal {
  RankBy rank_by = RankBy::kTokensPerSecondPerGpu;
  std::size_t top = 1;       // the best plans by that number
  bool memory_front = true;  // tokens/s/GPU against peak memory
  bool gpu_front = false;    // tokens/s of the cluster against its GPUs
};

class Incumbents {
 public:
  explicit Incumbents(const SearchGoal& goal);

  // A priced plan, once or more often. `gpus`: of its cluster.
  void add(const PlanNumbers& numbers, std::int64_t gpus);
  // Whether there is no place for a plan that has at most the rates, and at least the step time and
  // the peak memory of `at_best`.
  [[nodiscard]] bool leave_out(const PlanNumbers& at_best, std::int64_t gpus) const;

  // The peak memory from which on there is no place for such a plan, if there is one.
  [[nodiscard]] std::optional<Bytes> too_much_memory(const PlanNumbers& at_best,
                                                     std::int64_t gpus) const;

 private:
  SearchGoal goal_;
  BestPlans best_;
  ParetoFront memory_;
  ParetoFront gpus_;
};

}  // namespace stepcast
