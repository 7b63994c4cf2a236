// SPDX-License-Identifier: Apache-2.0
// The best plans of a sweep and its Pareto fronts, kept while plans stream by.
//
// Whatever the order in which plans come, the result is the same: ties are broken by index.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stepcast/sweep/chunk_store.hpp"
#include "stepcast/sweep/rank_by.hpp"
#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast {

inline constexpr std::size_t kAllPlans = std::numeric_limits<std::size_t>::max();

// The `most` best plans by one number. O(log most) a plan.
class BestPlans {
 public:
  BestPlans(RankBy rank_by, std::size_t most) : rank_by_(rank_by), most_(most) {}
  void add(const PlanNumbers& numbers, std::int64_t gpus);
  // The best first.
  [[nodiscard]] std::vector<PlanNumbers> ranked() const;
  // Whether there are `most` plans that are better than `numbers`, whatever its index.
  [[nodiscard]] bool all_better(const PlanNumbers& numbers, std::int64_t gpus) const;
  [[nodiscard]] bool holds(std::int64_t plan) const;

 private:
  struct Entry {
    double key = 0.0;  // less is better
    PlanNumbers numbers;
  };
  static bool better(const Entry& a, const Entry& b);
  [[nodiscard]] Entry entry_of(const PlanNumbers& numbers, std::int64_t gpus) const;

  RankBy rank_by_;
  std::size_t most_;
  std::vector<Entry> entries_;  // a heap with the worst on top, once there are `most_`
};

// Plans that no other beats: none has both more of the benefit and no more of the cost, or as much
// of it for less. Of equal plans the one with the smallest index stays. O(log n) a plan.
class ParetoFront {
 public:
  void add(double benefit, double cost, const PlanNumbers& numbers);
  // From the least cost to the most; the benefit rises with it.
  [[nodiscard]] std::vector<PlanNumbers> plans() const;
  // Whether one of them has more of the benefit for no more of the cost.
  [[nodiscard]] bool beats(double benefit, double cost) const;
  // The least cost of those that have more of the benefit, if any has.
  [[nodiscard]] std::optional<double> least_cost_beyond(double benefit) const;

 private:
  struct Entry {
    double benefit = 0.0;
    PlanNumbers numbers;
  };
  std::map<double, Entry> entries_;  // by cost; the benefit rises strictly
};

// Reasons against plans, those of most plans first.
std::vector<std::pair<std::string, std::int64_t>> by_count(
    const std::map<std::string, std::int64_t>& refused);

// Adds chunks up, in any order.
class SweepTally {
 public:
  SweepTally(const SweepSpace& space, std::size_t top);
  void add(const ChunkResult& chunk);
  void add(const PlanNumbers& priced);
  void refuse(const std::string& reason, std::int64_t plans);
  [[nodiscard]] SweepSummary summary() const;

 private:
  const SweepSpace* space_;
  SweepSummary counts_;
  BestPlans best_;
  ParetoFront memory_;
  ParetoFront gpus_;
  bool gpus_vary_;
};

// A store that adds chunks up, hands the plans of each on, and keeps none of them.
class TalliedChunks : public ChunkStore {
 public:
  using Take = std::function<void(const std::vector<PlanNumbers>& priced)>;

  // `take` is called by one thread at a time, with no empty chunk.
  TalliedChunks(const SweepSpace& space, std::size_t top, Take take)
      : tally_(space, top), take_(std::move(take)) {}

  [[nodiscard]] bool has(std::int64_t /*chunk*/) const override { return false; }
  [[nodiscard]] ChunkResult read(std::int64_t /*chunk*/) const override { return {}; }
  void keep(std::int64_t chunk, ChunkResult result) override;
  [[nodiscard]] SweepSummary summary() const { return tally_.summary(); }

 private:
  std::mutex mutex_;
  SweepTally tally_;
  Take take_;
};

}  // namespace stepcast
