// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/plan_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

#include "stepcast/sweep/plan_evaluator.hpp"

namespace stepcast {
namespace {

constexpr std::int64_t kSample = 64;      // plans, spread over the space
constexpr std::int64_t kLongest = 8192;   // of a sample that goes on until so many run:
constexpr std::int64_t kRunning = 48;     //
constexpr std::int64_t kStarts = 8;       // of descents from plans of the sample
constexpr int kMemorySizes = 14;          // of the ladder, for a Pareto set
constexpr int kRounds = 4;                // over all axes, of a descent at most
constexpr std::int64_t kMostOfAxis = 96;  // values of one axis that a descent tries
constexpr Bytes kAnyMemory(std::numeric_limits<double>::infinity());  // of plans within no limit

class IncumbentSearch {
 public:
  IncumbentSearch(const SweepSpace& space, PlanEvaluator& evaluator, const SearchGoal& goal)
      : space_(space), evaluator_(evaluator), goal_(goal), known_(goal) {}

  LikelyBest likely(const DescentStarts& starts) {
    if (starts.sample) {
      sample(kRunning);
    }
    std::vector<PlanNumbers> all = best_of_sample();
    for (const std::int64_t start : starts.plans) {
      if (const std::optional<PlanNumbers>& found = numbers(start)) {
        all.push_back(*found);
      }
    }
    for (const PlanNumbers& start : all) {
      descend_alone(start);
    }
    return {best_within(kAnyMemory), std::ssize(priced_) + looked_at_, refused_};
  }

  Incumbents run() {
    sample(kStarts);
    descend(kAnyMemory);
    descend_from_others();
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
      const ChunkResult result = evaluator_.evaluate(index, index + 1, &known_);
      if (!result.priced.empty()) {
        known->second = result.priced.front();
      }
      for (const auto& [reason, plans] : result.refused) {
        refused_[reason] += plans;
      }
    }
    return known->second;
  }

  // Steps of the golden section of the space: however many, they are spread evenly. So many that
  // `running` of them run, if that does not take too many.
  void sample(std::int64_t running) {
    constexpr double kGolden = 0.6180339887498949;
    const std::int64_t most = std::min(kLongest, space_.size());
    const bool all = most == space_.size();
    std::int64_t runs = 0;
    sampled_.clear();
    for (std::int64_t i = 0; i < most && (i < kSample || runs < running); ++i) {
      const double place = std::fmod(static_cast<double>(i) * kGolden, 1.0);
      const auto index =
          all ? i : static_cast<std::int64_t>(place * static_cast<double>(space_.size()));
      sampled_.push_back(std::min(index, space_.size() - 1));
      runs += numbers(sampled_.back()) ? 1 : 0;
    }
  }

  // Of those that `sample` looked at last.
  [[nodiscard]] std::vector<PlanNumbers> best_of_sample() const {
    std::vector<PlanNumbers> plans;
    for (const std::int64_t index : sampled_) {
      if (const std::optional<PlanNumbers>& numbers = priced_.at(index)) {
        plans.push_back(*numbers);
      }
    }
    const std::size_t some = std::min<std::size_t>(kStarts, plans.size());
    std::partial_sort(plans.begin(), plans.begin() + static_cast<std::ptrdiff_t>(some), plans.end(),
                      [this](const auto& a, const auto& b) { return key(a) < key(b); });
    plans.resize(some);
    return plans;
  }

  [[nodiscard]] std::pair<Bytes, Bytes> memory_range() const {
    Bytes least = kAnyMemory;
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

  // The best plan of a sample is not always on the way to the best of all.
  void descend_from_others() {
    for (const PlanNumbers& start : best_of_sample()) {
      descend_alone(start);
    }
    if (const std::optional<PlanNumbers> best = best_within(kAnyMemory)) {
      known_.add(*best, space_.experiment_of(best->plan).cluster.gpus());
    }
  }

  // Without what bounds leave no place for beside the best plan of this descent.
  void descend_alone(PlanNumbers best) {
    Incumbents known(goal_);
    known.add(best, space_.experiment_of(best.plan).cluster.gpus());
    for (int round = 0; round < kRounds; ++round) {
      const std::int64_t before = best.plan;
      for (std::size_t axis = space_.axes().size(); axis-- > 0;) {
        for_each_beside(axis, best.plan, [&](std::int64_t plan) { try_alone(plan, known, best); });
      }
      if (best.plan == before) {
        break;
      }
    }
  }

  void try_alone(std::int64_t plan, Incumbents& known, PlanNumbers& best) {
    const auto met = priced_.find(plan);
    if (met == priced_.end()) {
      ++looked_at_;
      for (const PlanNumbers& found : evaluator_.evaluate(plan, plan + 1, &known).priced) {
        priced_[plan] = found;
        best = key(found) < key(best) ? found : best;
      }
    } else if (met->second && key(*met->second) < key(best)) {
      best = *met->second;
      known.add(best, space_.experiment_of(best.plan).cluster.gpus());
    }
  }

  // The plans that differ in one axis.
  template <typename Try>
  void for_each_beside(std::size_t axis, std::int64_t plan, const Try& attempt) {
    const std::int64_t values = space_.axes()[axis].size();
    const std::int64_t apart = (values + kMostOfAxis - 1) / kMostOfAxis;
    const auto digit = static_cast<std::int64_t>(space_.digit(plan, axis));
    const std::int64_t base = plan - digit * space_.stride(axis);
    for (std::int64_t value = digit % apart; value < values; value += apart) {
      attempt(base + value * space_.stride(axis));
    }
  }

  void try_axis(std::size_t axis, Bytes memory, PlanNumbers& best) {
    for_each_beside(axis, best.plan, [&](std::int64_t plan) {
      const std::optional<PlanNumbers>& found = numbers(plan);
      if (found && found->peak_memory <= memory && key(*found) < key(best)) {
        best = *found;
      }
    });
  }

  const SweepSpace& space_;
  PlanEvaluator& evaluator_;
  SearchGoal goal_;
  Incumbents known_;
  std::unordered_map<std::int64_t, std::optional<PlanNumbers>> priced_;  // what was looked at
  std::vector<std::int64_t> sampled_;
  std::int64_t looked_at_ = 0;                   // beside those
  std::map<std::string, std::int64_t> refused_;  // of it
};

}  // namespace

std::optional<SearchGoal> goal_of(const SweepSpace& space, std::size_t top) {
  if (!can_be_bounded(space.rank_by())) {
    return std::nullopt;
  }
  return SearchGoal{space.rank_by(), top, true, space.gpus_vary()};
}

MakeEvaluator evaluators_of(const SweepSpace& space, const std::vector<CostModel>& costs,
                            const std::optional<SearchGoal>& goal,
                            const std::shared_ptr<SolvedPipelines>& pipelines) {
  const auto make = [&space, &costs, pipelines] {
    return std::make_shared<PlanEvaluator>(space, costs, pipelines);
  };
  if (!goal) {
    return [make] {
      return [evaluator = make()](std::int64_t begin, std::int64_t end) {
        return evaluator->evaluate(begin, end);
      };
    };
  }
  const Incumbents known = IncumbentSearch(space, *make(), *goal).run();
  return evaluators_beside(space, costs, known, pipelines);
}

MakeEvaluator evaluators_beside(const SweepSpace& space, const std::vector<CostModel>& costs,
                                const Incumbents& known,
                                const std::shared_ptr<SolvedPipelines>& pipelines) {
  return [&space, &costs, known = std::make_shared<const Incumbents>(known), pipelines] {
    const auto evaluator = std::make_shared<PlanEvaluator>(space, costs, pipelines);
    return [evaluator, known](std::int64_t begin, std::int64_t end) {
      Incumbents own = *known;
      return evaluator->evaluate(begin, end, &own);
    };
  };
}

LikelyBest likely_best(const SweepSpace& space, PlanEvaluator& evaluator, RankBy rank_by,
                       const DescentStarts& starts) {
  return IncumbentSearch(space, evaluator, SearchGoal{rank_by, 1, false, false}).likely(starts);
}

}  // namespace stepcast
