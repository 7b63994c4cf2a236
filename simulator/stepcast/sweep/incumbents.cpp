// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/incumbents.hpp"

namespace stepcast {

Incumbents::Incumbents(const SearchGoal& goal) : goal_(goal), best_(goal.rank_by, goal.top) {}

void Incumbents::add(const PlanNumbers& numbers, std::int64_t gpus) {
  if (!best_.holds(numbers.plan)) {
    best_.add(numbers, gpus);
  }
  if (goal_.memory_front) {
    memory_.add(numbers.tokens_per_second_per_gpu, numbers.peak_memory.value(), numbers);
  }
  if (goal_.gpu_front) {
    gpus_.add(ranked_number(RankBy::kTokensPerSecond, numbers, gpus), static_cast<double>(gpus),
              numbers);
  }
}

bool Incumbents::leave_out(const PlanNumbers& at_best, std::int64_t gpus) const {
  if (!best_.all_better(at_best, gpus)) {
    return false;
  }
  if (goal_.memory_front &&
      !memory_.beats(at_best.tokens_per_second_per_gpu, at_best.peak_memory.value())) {
    return false;
  }
  return !goal_.gpu_front || gpus_.beats(ranked_number(RankBy::kTokensPerSecond, at_best, gpus),
                                         static_cast<double>(gpus));
}

std::optional<Bytes> Incumbents::too_much_memory(const PlanNumbers& at_best,
                                                 std::int64_t gpus) const {
  if (!goal_.memory_front) {
    return std::nullopt;
  }
  const std::optional<double> least = memory_.least_cost_beyond(at_best.tokens_per_second_per_gpu);
  if (!least) {
    return std::nullopt;
  }
  PlanNumbers filled = at_best;
  filled.peak_memory = Bytes(*least);
  return leave_out(filled, gpus) ? std::optional(filled.peak_memory) : std::nullopt;
}

}  // namespace stepcast
