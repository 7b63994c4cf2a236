// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/run_search.hpp"

#include <tbb/parallel_for_each.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

#include "stepcast/base/each_of.hpp"
#include "stepcast/base/worker_arena.hpp"
#include "stepcast/model/model_flops.hpp"
#include "stepcast/sweep/run_choice.hpp"

namespace stepcast {
namespace {

constexpr std::int64_t kMostGpus = 65'536;  // where no limit is given
constexpr std::int64_t kBeyond = 2;         // times the first number that does

// Numbers of GPUs on either side of one, whose plans are tried.
constexpr std::size_t kNear = 1;

// GPU-days that a number that was not looked at may save against the best of those that were.
constexpr double kSaved = 0.02;

// The numbers of one GPU.
class RunSearch {
 public:
  using FindCandidate = std::function<RunCandidate(std::int64_t nodes, const NearCandidates& near)>;

  RunSearch(const Experiment& experiment, const RunLimits& limits, FindCandidate find)
      : gpu_(experiment.cluster.device.name),
        per_node_(experiment.cluster.gpus_per_node),
        batch_(experiment.training.global_batch_size),
        limits_(limits),
        find_(std::move(find)) {
    const std::int64_t most = limits.gpus.value_or(kMostGpus) / per_node_;
    least_ = least_nodes(experiment, limits.days);
    counts_ = node_counts(least_, most);
    const bool ends_early = counts_.empty() || (limits.gpus && counts_.back() < most);
    if (most > 0 && ends_early) {
      counts_.push_back(most);  // it says how far the limits are
    }
  }

  // As far as a first number that stays within the limits asks for, and the limit of GPUs.
  void look() {
    std::optional<std::int64_t> first;  // nodes that do
    while (!ended()) {
      const std::int64_t nodes = counts_[looked_];
      // Money may last for more; what it buys fastest is beyond what it buys first.
      const bool spent = !limits_.budget || (looked_ > 0 && !within(counts_[looked_ - 1]));
      if (!limits_.gpus && first && nodes > kBeyond * *first && spent) {
        break;
      }
      look_at_next();
      if (!first && within(nodes)) {
        first = nodes;
        look_at(nodes, true);
      }
    }
  }

  void look_at_next() {
    look_at(counts_[looked_]);
    ++looked_;
  }

  // The fewest nodes within the limits, and the most.
  void refine() {
    refine_fewest();
    refine_most();
  }

  // Plans of other numbers are tried with each of the grid, where a better one may be left.
  void look_back() {
    for (std::size_t i = looked_; i-- > 0;) {
      if (!candidates_.at(counts_[i]).proven) {
        look_at(counts_[i]);
      }
    }
  }

  // Whether more GPUs might have fewer days at a lower cost than a candidate of another GPU.
  [[nodiscard]] bool might_beat(const RunCandidate& other) const {
    if (ended() || looked_ == 0 || !within(counts_[looked_ - 1])) {
      return false;
    }
    const Projection& last = candidates_.at(counts_[looked_ - 1]).projection;
    return last.run->days() > other.projection.run->days() &&
           run_cost(last) < run_cost(other.projection);
  }

  [[nodiscard]] bool ended() const { return looked_ == counts_.size(); }
  [[nodiscard]] RecommendedGpu answer() const {
    std::vector<RunCandidate> all;
    for (const auto& [nodes, candidate] : candidates_) {
      all.push_back(candidate);
    }
    RecommendedGpu result = recommended(gpu_, std::move(all), limits_);
    result.tried_from = tried_from_;
    return result;
  }

 private:
  [[nodiscard]] bool within(std::int64_t nodes) const {
    return stays_within(candidates_.at(nodes), limits_);
  }

  void look_at(std::int64_t nodes, bool widely = false) {
    NearCandidates near = beside(nodes);
    near.widely = widely || near.found.empty();
    RunCandidate found = find_(nodes, near);
    const auto known = candidates_.find(nodes);
    const bool worse =
        known != candidates_.end() && known->second.projection.feasible() &&
        (!found.projection.feasible() || found.projection.tokens_per_second_per_gpu <
                                             known->second.projection.tokens_per_second_per_gpu);
    if (!worse) {
      candidates_[nodes] = std::move(found);
    }
  }

  // What was found for the nearest numbers on both sides, and for this one.
  [[nodiscard]] NearCandidates beside(std::int64_t nodes) const {
    NearCandidates near;
    auto above = candidates_.lower_bound(nodes);
    auto below = above;
    for (std::size_t i = 0; i < kNear && below != candidates_.begin(); ++i) {
      near.found.push_back(&(--below)->second);
    }
    for (std::size_t i = 0; i < kNear && above != candidates_.end(); ++i, ++above) {
      near.found.push_back(&above->second);
    }
    return near;
  }

  void refine_fewest() {
    const auto first = std::ranges::find_if(
        candidates_, [this](const auto& entry) { return stays_within(entry.second, limits_); });
    const bool none = first == candidates_.end();
    if (!limits_.days || candidates_.empty() || (none && !limits_.gpus)) {
      return;
    }
    const std::int64_t fewest = none ? counts_.back() : first->first;
    double node_days = std::numeric_limits<double>::infinity();
    for (const auto& [nodes, candidate] : candidates_) {
      if (candidate.projection.feasible() && candidate.projection.run) {
        node_days =
            std::min(node_days, candidate.projection.run->days() * static_cast<double>(nodes));
      }
    }
    const double least = (1.0 - kSaved) * node_days / *limits_.days;
    if (!(least < static_cast<double>(fewest))) {
      return;
    }
    tried_from_ = std::max(least_, static_cast<std::int64_t>(std::ceil(least)));
    for (std::int64_t nodes = tried_from_; nodes < fewest; ++nodes) {
      if (!candidates_.contains(nodes)) {
        look_at(nodes, divides_well(nodes));
      }
      if (within(nodes)) {
        return;
      }
    }
    tried_from_ = none ? 0 : tried_from_;
  }

  // Whether a pipeline of few ranks leaves replicas that divide the batch. Others have few plans,
  // which those of their neighbours lead to where there are any.
  [[nodiscard]] bool divides_well(std::int64_t nodes) const {
    constexpr std::int64_t kFewRanks = 16;
    std::int64_t left = nodes * per_node_;
    left /= std::gcd(left, batch_);
    while (left % 2 == 0) {
      left /= 2;
    }
    return left <= kFewRanks;
  }

  // By halves between the largest number within the limits and the next one that was looked at.
  void refine_most() {
    if (!limits_.budget) {
      return;
    }
    const auto last =
        std::find_if(candidates_.rbegin(), candidates_.rend(),
                     [this](const auto& entry) { return stays_within(entry.second, limits_); });
    if (last == candidates_.rend() || last == candidates_.rbegin()) {
      return;
    }
    std::int64_t enough = last->first;
    std::int64_t too_many = std::prev(last)->first;
    while (too_many - enough > 1) {
      const std::int64_t middle = enough + (too_many - enough) / 2;
      look_at(middle);
      (within(middle) ? enough : too_many) = middle;
    }
  }

  std::string gpu_;
  std::int64_t per_node_ = 1;
  std::int64_t batch_ = 1;
  RunLimits limits_;
  FindCandidate find_;
  std::int64_t least_ = 1;
  std::vector<std::int64_t> counts_;                 // of nodes: the grid
  std::size_t looked_ = 0;                           // of the grid
  std::map<std::int64_t, RunCandidate> candidates_;  // by nodes
  std::int64_t tried_from_ = 0;
};

// Searches that might beat the fastest of what all of them found.
std::vector<RunSearch*> unfinished(std::vector<RunSearch>& searches, const RunLimits& limits) {
  const std::vector<RecommendedGpu> found = each_of(searches, &RunSearch::answer);
  const std::vector<PlacedCandidate> front = pareto_of(found, limits);
  std::vector<RunSearch*> open;
  for (RunSearch& search : searches) {
    if (!front.empty() && search.might_beat(found[front[0].gpu].candidates[front[0].candidate])) {
      open.push_back(&search);
    }
  }
  return open;
}

}  // namespace

std::vector<std::int64_t> node_counts(std::int64_t least, std::int64_t most) {
  std::vector<std::int64_t> counts;
  for (std::int64_t nodes = 1; nodes <= most; nodes *= 2) {
    counts.push_back(nodes);
    if (nodes > 1 && nodes + nodes / 2 <= most) {
      counts.push_back(nodes + nodes / 2);
    }
  }
  std::erase_if(counts, [least](std::int64_t nodes) { return nodes < least; });
  return counts;
}

std::int64_t least_nodes(const Experiment& experiment, std::optional<double> days) {
  const DeviceSpec& device = experiment.cluster.device;
  const std::optional<FlopsPerSecond> peak =
      device.matrix_peak(experiment.training.dtype, device.clock.peak);
  if (!days || !experiment.run || !peak) {
    return 1;
  }
  const Flops work = static_cast<double>(experiment.run->tokens) *
                     training_flops_per_token(experiment.model, experiment.training.sequence_length,
                                              experiment.training.weights);
  constexpr Seconds kDay{86'400.0};
  const double gpus = (work / *peak) / (*days * kDay);
  return std::max<std::int64_t>(
      1, static_cast<std::int64_t>(
             std::floor(gpus / static_cast<double>(experiment.cluster.gpus_per_node))));
}

std::vector<RecommendedGpu> search_runs(const std::vector<Experiment>& experiments,
                                        const RunLimits& limits, const CandidateOf& candidate,
                                        int threads) {
  std::vector<RunSearch> searches;
  for (std::size_t i = 0; i < experiments.size(); ++i) {
    searches.emplace_back(experiments[i], limits,
                          [&candidate, i](std::int64_t nodes, const NearCandidates& near) {
                            return candidate(i, nodes, near);
                          });
  }
  WorkerArena(threads).run([&] {
    tbb::parallel_for_each(searches, [](RunSearch& search) { search.look(); });
    for (std::vector<RunSearch*> open = unfinished(searches, limits); !open.empty();
         open = unfinished(searches, limits)) {
      tbb::parallel_for_each(open, [](RunSearch* search) { search->look_at_next(); });
    }
    tbb::parallel_for_each(searches, [](RunSearch& search) {
      search.look_back();
      search.refine();
    });
  });
  return each_of(searches, &RunSearch::answer);
}

}  // namespace stepcast
