// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/sweep_ranking.hpp"

#include <algorithm>

#include "stepcast/base/each_of.hpp"

namespace stepcast {

bool BestPlans::better(const Entry& a, const Entry& b) {
  return a.key != b.key ? a.key < b.key : a.numbers.plan < b.numbers.plan;
}

BestPlans::Entry BestPlans::entry_of(const PlanNumbers& numbers, std::int64_t gpus) const {
  return {rank_key(rank_by_, numbers, gpus), numbers};
}

bool BestPlans::all_better(const PlanNumbers& numbers, std::int64_t gpus) const {
  return entries_.size() >= most_ &&
         (most_ == 0 || entries_.front().key < entry_of(numbers, gpus).key);
}

bool BestPlans::holds(std::int64_t plan) const {
  return std::ranges::any_of(entries_,
                             [plan](const Entry& entry) { return entry.numbers.plan == plan; });
}

void BestPlans::add(const PlanNumbers& numbers, std::int64_t gpus) {
  const Entry entry = entry_of(numbers, gpus);
  if (entries_.size() < most_) {
    entries_.push_back(entry);
    if (entries_.size() == most_) {
      std::make_heap(entries_.begin(), entries_.end(), better);
    }
    return;
  }
  if (most_ == 0 || !better(entry, entries_.front())) {
    return;
  }
  std::pop_heap(entries_.begin(), entries_.end(), better);
  entries_.back() = entry;
  std::push_heap(entries_.begin(), entries_.end(), better);
}

std::vector<PlanNumbers> BestPlans::ranked() const {
  std::vector<const Entry*> order = each_of(entries_, [](const Entry& entry) { return &entry; });
  std::ranges::sort(order, [](const Entry* a, const Entry* b) { return better(*a, *b); });
  return each_of(order, &Entry::numbers);
}

void ParetoFront::add(double benefit, double cost, const PlanNumbers& numbers) {
  auto after = entries_.upper_bound(cost);
  if (after != entries_.begin()) {
    const auto before = std::prev(after);
    const bool as_cheap = before->first == cost;
    if (as_cheap && before->second.benefit == benefit) {
      if (numbers.plan < before->second.numbers.plan) {
        before->second.numbers = numbers;
      }
      return;
    }
    if (before->second.benefit >= benefit) {
      return;
    }
    if (as_cheap) {
      after = entries_.erase(before);
    }
  }
  while (after != entries_.end() && after->second.benefit <= benefit) {
    after = entries_.erase(after);
  }
  entries_.emplace(cost, Entry{benefit, numbers});
}

bool ParetoFront::beats(double benefit, double cost) const {
  const auto after = entries_.upper_bound(cost);
  return after != entries_.begin() && std::prev(after)->second.benefit > benefit;
}

std::optional<double> ParetoFront::least_cost_beyond(double benefit) const {
  const auto beyond = std::ranges::find_if(
      entries_, [benefit](const auto& entry) { return entry.second.benefit > benefit; });
  return beyond != entries_.end() ? std::optional(beyond->first) : std::nullopt;
}

std::vector<PlanNumbers> ParetoFront::plans() const {
  return each_of(entries_, [](const auto& entry) { return entry.second.numbers; });
}

SweepTally::SweepTally(const SweepSpace& space, std::size_t top)
    : space_(&space), best_(space.rank_by(), top), gpus_vary_(space.gpus_vary()) {}

void SweepTally::add(const ChunkResult& chunk) {
  for (const PlanNumbers& numbers : chunk.priced) {
    add(numbers);
  }
  counts_.evaluated += chunk.bounded;
  counts_.bounded += chunk.bounded;
  for (const auto& [reason, plans] : chunk.refused) {
    refuse(reason, plans);
  }
}

void SweepTally::add(const PlanNumbers& priced) {
  const std::int64_t gpus = space_->experiment_of(priced.plan).cluster.gpus();
  ++counts_.evaluated;
  ++counts_.priced;
  best_.add(priced, gpus);
  memory_.add(priced.tokens_per_second_per_gpu, priced.peak_memory.value(), priced);
  if (gpus_vary_) {
    gpus_.add(ranked_number(RankBy::kTokensPerSecond, priced, gpus), static_cast<double>(gpus),
              priced);
  }
}

void SweepTally::refuse(const std::string& reason, std::int64_t plans) {
  counts_.evaluated += plans;
  counts_.refused[reason] += plans;
}

SweepSummary SweepTally::summary() const {
  SweepSummary summary = counts_;
  summary.best = best_.ranked();
  summary.memory_front = memory_.plans();
  summary.gpu_front = gpus_.plans();
  return summary;
}

void TalliedChunks::keep(std::int64_t /*chunk*/, ChunkResult result) {
  const std::scoped_lock lock(mutex_);
  tally_.add(result);
  if (!result.priced.empty()) {
    take_(result.priced);
  }
}

std::vector<std::pair<std::string, std::int64_t>> by_count(
    const std::map<std::string, std::int64_t>& refused) {
  std::vector<std::pair<std::string, std::int64_t>> sorted(refused.begin(), refused.end());
  std::ranges::stable_sort(sorted,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

}  // namespace stepcast
