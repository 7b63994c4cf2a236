// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/plan_regret.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "stepcast/base/quantile.hpp"
namespace stepcast {
namespace {

// The size, the name, the part, the nodes, the batch in sequences, the state of the network.
using Work = std::tuple<double, std::string, std::string, std::int64_t, std::int64_t, std::int64_t,
                        std::string>;

Work work_of(const TimedRun& run, RegretScope scope) {
  const Projection& p = run.projection;
  return {p.parameters,
          p.model,
          p.gpu,
          p.nodes,
          p.training.sequence_length,
          p.training.global_batch_size,
          scope == RegretScope::kWorkAndNetwork ? run.network : std::string()};
}

}  // namespace

RegretSummary summary_of(const std::vector<RegretGroup>& groups) {
  std::vector<double> kept;
  RegretSummary summary;
  for (const RegretGroup& group : groups) {
    kept.push_back(group.kept());
    summary.random += group.random() / static_cast<double>(groups.size());
  }
  if (kept.empty()) {
    return summary;
  }
  std::sort(kept.begin(), kept.end());
  summary.mean = std::accumulate(kept.begin(), kept.end(), 0.0) / static_cast<double>(kept.size());
  summary.median = median(kept);
  summary.worst = kept.front();
  return summary;
}

std::vector<RegretGroup> plan_regret(const std::vector<TimedRun>& runs, RegretScope scope) {
  std::map<Work, RegretGroup> by_work;
  for (const TimedRun& run : runs) {
    RegretGroup& group = by_work[work_of(run, scope)];
    group.model = run.projection.model;
    group.gpu = run.projection.gpu;
    group.nodes = run.projection.nodes;
    group.network = scope == RegretScope::kWorkAndNetwork ? run.network : "";
    group.runs.push_back(&run);
    // The first of equals.
    if (group.pick == nullptr || run.predicted() > group.pick->predicted()) {
      group.pick = &run;
    }
    if (group.best == nullptr || run.measured > group.best->measured) {
      group.best = &run;
    }
  }
  std::vector<RegretGroup> groups;
  for (auto& [work, group] : by_work) {
    if (group.runs.size() >= kLeastPlans) {
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

}  // namespace stepcast
