// SPDX-License-Identifier: Apache-2.0
// What a search over plans loses by trusting predictions: of runs of the same work that differ in
// their plans, the one predicted to be the fastest against the one that was.
//
//   kept   = measured tokens/s/GPU of the pick / of the fastest; 1 - kept is the regret
//   random = mean of measured tokens/s/GPU / of the fastest: what a pick at random keeps
//
// The same work: one model, one number of nodes, one batch in tokens. Runs of the same work may
// have found their network in other states; a search is done on one of them, so that the same is
// said of the runs of each state by themselves.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "stepcast/validation/timed_runs.hpp"

namespace stepcast {

// Groups of fewer runs leave a search no choice.
inline constexpr std::size_t kLeastPlans = 5;

enum class RegretScope { kWork, kWorkAndNetwork };

struct RegretGroup {
  std::string model;
  std::string gpu;
  std::int64_t nodes = 0;
  std::string network;                // one state of it; empty: whatever it was
  std::vector<const TimedRun*> runs;  // of the input
  const TimedRun* pick = nullptr;     // predicted to be the fastest
  const TimedRun* best = nullptr;     // the fastest

  [[nodiscard]] double kept() const { return pick->measured / best->measured; }
  [[nodiscard]] double random() const;
};

// By model, nodes, state of the network. Points into `runs`.
std::vector<RegretGroup> plan_regret(const std::vector<TimedRun>& runs, RegretScope scope);

struct RegretSummary {
  double mean = 0.0;
  double median = 0.0;
  double worst = 0.0;
  double random = 0.0;  // mean
};
// All zero without groups.
RegretSummary summary_of(const std::vector<RegretGroup>& groups);

// Of runs of the same work, and of those on one state of the network.
std::string regret_to_text(const std::vector<TimedRun>& runs);
nlohmann::ordered_json regret_to_json(const std::vector<TimedRun>& runs);

}  // namespace stepcast
