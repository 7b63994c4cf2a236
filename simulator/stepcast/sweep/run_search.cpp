// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/run_search.hpp"

#include <tbb/parallel_for_each.h>

#include <algorithm>
#include <cmath>

#include "stepcast/base/each_of.hpp"
#include "stepcast/base/worker_arena.hpp"
#include "stepcast/model/model_flops.hpp"
#include "stepcast/sweep/run_choice.hpp"

namespace stepcast {
namespace {

constexpr std::int64_t kMostGpus = 65'536;  // where no limit is given
constexpr std::int64_t kBeyond = 2;         // times the first number that does

// Numbers of GPUs beside one, whose plans are tried: of two there is one half or twice as large.
constexpr std::size_t kNear = 2;

// The numbers of one GPU.
class RunSearch {
 public:
  using FindCandidate = std::function<RunCandidate(std::int64_t nodes, const NearCandidates& near)>;

  RunSearch(const Experiment& experiment, const RunLimits& limits, FindCandidate find)
      : gpu_(experiment.cluster.device.name), limits_(limits), find_(std::move(find)) {
    const std::int64_t per_node = experiment.cluster.gpus_per_node;
    const std::int64_t most = limits.gpus.value_or(kMostGpus) / per_node;
    counts_ = node_counts(least_nodes(experiment, limits.days), most);
    if (std::vector<std::int64_t> all = node_counts(1, most); counts_.empty() && !all.empty()) {
      counts_ = {all.back()};  // it says how far the limits are
    }
  }

  // As far as a first number that stays within the limits asks for.
  void look() {
    std::optional<std::int64_t> first;  // nodes that do
    while (!ended()) {
      const std::int64_t nodes = counts_[candidates_.size()];
      if (!limits_.gpus && first && nodes > kBeyond * *first) {
        break;
      }
      look_at_next();
      if (!first && stays_within(candidates_.back(), limits_)) {
        first = nodes;
      }
    }
  }

  void look_at_next() {
    NearCandidates near;
    const std::size_t known = candidates_.size();
    for (std::size_t i = known - std::min(known, kNear); i < known; ++i) {
      near.found.push_back(&candidates_[i]);
    }
    candidates_.push_back(find_(counts_[candidates_.size()], near));
  }

  // Plans of more GPUs are tried with fewer, where a better plan may be left.
  void look_back() {
    for (std::size_t i = candidates_.size(); i-- > 1;) {
      if (!candidates_[i - 1].proven) {
        NearCandidates near{{}, true};
        for (std::size_t j = i - 1; j < std::min(i + kNear, candidates_.size()); ++j) {
          near.found.push_back(&candidates_[j]);
        }
        candidates_[i - 1] = find_(counts_[i - 1], near);
      }
    }
  }

  // Whether more GPUs might have fewer days at a lower cost than a candidate of another GPU.
  [[nodiscard]] bool might_beat(const RunCandidate& other) const {
    if (ended() || candidates_.empty() || !stays_within(candidates_.back(), limits_)) {
      return false;
    }
    const Projection& last = candidates_.back().projection;
    return last.run->days() > other.projection.run->days() &&
           run_cost(last) < run_cost(other.projection);
  }

  [[nodiscard]] bool ended() const { return candidates_.size() == counts_.size(); }
  [[nodiscard]] RecommendedGpu answer() const { return recommended(gpu_, candidates_, limits_); }

 private:
  std::string gpu_;
  RunLimits limits_;
  FindCandidate find_;
  std::vector<std::int64_t> counts_;      // of nodes
  std::vector<RunCandidate> candidates_;  // of the first of them
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
    tbb::parallel_for_each(searches, [](RunSearch& search) { search.look_back(); });
  });
  return each_of(searches, &RunSearch::answer);
}

}  // namespace stepcast
