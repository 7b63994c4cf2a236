// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/incumbent_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>

namespace stepcast {
namespace {

constexpr std::int64_t kSample = 64;      // plans, spread over the space
constexpr int kMemorySizes = 14;          // of the ladder, for a Pareto set
constexpr int kRounds = 4;                // over all axes, of a descent at most
constexpr std::int64_t kMostOfAxis = 96;  // values of one axis that a descent tries

class IncumbentSearch {
 public:
  IncumbentSearch(const SweepSpace& space, PlanEvaluator& evaluator, const SearchGoal& goal)
      : space_(space), evaluator_(evaluator), goal_(goal), known_(goal) {}

  Incumbents run() {
    sample();
    const Bytes any(std::numeric_limits<double>::infinity());
    descend(any);
    if (goal_.memory_front && !priced_.empty()) {
      const auto [least, most] = memory_range();
      for (int i = 1; i <= kMemorySizes; ++i) {
        descend(least + (static_cast<double>(i) / (kMemorySizes + 1)) * (most - least));
      }
    }
    return std::move(known_);
  }

 private:
  // The numbers of a plan, or nothing where it cannot run or has no place.
  const std::optional<PlanNumbers>& numbers(std::int64_t index) {
    const auto [known, fresh] = priced_.try_emplace(index);
    if (fresh) {
      const ChunkResult result = evaluator_.search(index, index + 1, known_);
      if (!result.priced.empty()) {
        known->second = result.priced.front();
      }
    }
    return known->second;
  }

  // Steps of the golden section of the space: however many, they are spread evenly.
  void sample() {
    constexpr double kGolden = 0.6180339887498949;
    const std::int64_t plans = std::min(kSample, space_.size());
    for (std::int64_t i = 0; i < plans; ++i) {
      const double place = std::fmod(static_cast<double>(i) * kGolden, 1.0);
      const auto index =
          plans == space_.size()
              ? i
              : static_cast<std::int64_t>(place * static_cast<double>(space_.size()));
      numbers(std::min(index, space_.size() - 1));
    }
  }

  [[nodiscard]] std::pair<Bytes, Bytes> memory_range() const {
    Bytes least(std::numeric_limits<double>::infinity());
    Bytes most;
    for (const auto& [index, numbers] : priced_) {
      if (numbers) {
        least = min(least, numbers->peak_memory);
        most = max(most, numbers->peak_memory);
      }
    }
    return {least, most};
  }

  // Less is better; ties go by index.
  [[nodiscard]] std::pair<double, std::int64_t> key(const PlanNumbers& numbers) const {
    const std::int64_t gpus = space_.experiment_of(numbers.plan).cluster.gpus();
    return {rank_key(goal_.rank_by, numbers, gpus), numbers.plan};
  }

  // Of all that are priced within the memory.
  [[nodiscard]] std::optional<PlanNumbers> best_within(Bytes memory) const {
    std::optional<PlanNumbers> best;
    for (const auto& [index, numbers] : priced_) {
      if (numbers && numbers->peak_memory <= memory && (!best || key(*numbers) < key(*best))) {
        best = numbers;
      }
    }
    return best;
  }

  void descend(Bytes memory) {
    std::optional<PlanNumbers> best = best_within(memory);
    for (int round = 0; round < kRounds && best; ++round) {
      const std::int64_t before = best->plan;
      for (std::size_t axis = space_.axes().size(); axis-- > 0;) {
        try_axis(axis, memory, *best);
      }
      if (best->plan == before) {
        break;
      }
    }
  }

  void try_axis(std::size_t axis, Bytes memory, PlanNumbers& best) {
    const std::int64_t values = space_.axes()[axis].size();
    const std::int64_t apart = (values + kMostOfAxis - 1) / kMostOfAxis;
    const auto digit = static_cast<std::int64_t>(space_.digit(best.plan, axis));
    const std::int64_t base = best.plan - digit * space_.stride(axis);
    for (std::int64_t value = digit % apart; value < values; value += apart) {
      const std::optional<PlanNumbers>& found = numbers(base + value * space_.stride(axis));
      if (found && found->peak_memory <= memory && key(*found) < key(best)) {
        best = *found;
      }
    }
  }

  const SweepSpace& space_;
  PlanEvaluator& evaluator_;
  SearchGoal goal_;
  Incumbents known_;
  std::unordered_map<std::int64_t, std::optional<PlanNumbers>> priced_;  // what was looked at
};

}  // namespace

Incumbents first_incumbents(const SweepSpace& space, PlanEvaluator& evaluator,
                            const SearchGoal& goal) {
  return IncumbentSearch(space, evaluator, goal).run();
}

}  // namespace stepcast
