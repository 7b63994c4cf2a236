// SPDX-License-Identifier: Apache-2.0
// Projections of many experiments on all processors; measured runs of files beside what is
// predicted of them, for questions that take several runs at a time: which of some plans is the
// fastest, how much faster another GPU is.
#pragma once

#include <filesystem>
#include <vector>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/result/projection.hpp"
#include "stepcast/result/timed_runs.hpp"
#include "stepcast/validation/measurements.hpp"

namespace stepcast {

// One projection an experiment, in their order whatever the number of threads; of a null one an
// empty projection. The first exception by index is thrown after all have ended.
std::vector<Projection> projections_of(const std::vector<const Experiment*>& experiments,
                                       const CostModel& cost);

// The runs that have a rate to be trusted and a plan that divides, in the order of the files. What
// a row says of its own network is used. A run that happened is timed even where the memory model
// calls it unfit. Throws ConfigError for files that hold no runs.
std::vector<TimedRun> timed_runs(const std::vector<std::filesystem::path>& files,
                                 const DataRoot& data, const CostModel& cost,
                                 const Importers& importers);

// --- the best plan ------------------------------------------------------------------------------
// What a search over plans loses by trusting predictions: of runs of the same work that differ in
// their plans, the one predicted to be the fastest against the one that was.
//
//   kept   = measured tokens/s/GPU of the pick / of the fastest; 1 - kept is the regret
//   random = mean of measured tokens/s/GPU / of the fastest: what a pick at random keeps
//
// The same work: one model, one number of nodes, one batch in tokens. Runs of the same work may
// have found their network in other states; a search is done on one of them, so that the same is
// said of the runs of each state by themselves.

// Groups of fewer runs leave a search no choice.
inline constexpr std::size_t kLeastPlans = 5;

enum class RegretScope { kWork, kWorkAndNetwork };

// By model, nodes, state of the network. Points into `runs`.
std::vector<RegretGroup> plan_regret(const std::vector<TimedRun>& runs, RegretScope scope);

// All zero without groups.
RegretSummary summary_of(const std::vector<RegretGroup>& groups);

// --- another GPU --------------------------------------------------------------------------------
// How much faster one GPU is than another at the same work: predicted against measured.
//
//   error = (predicted rate of B / predicted rate of A) / (measured rate of B / of A) - 1
//
// The same work: model, plan as it was resolved, sequence, batches, format, recomputation and
// number of GPUs. Where several runs of one GPU do the same work, with other versions of the
// software, their medians count. What one software stack does better on one part than on another is
// in the error.

// By work, then GPU.
std::vector<SkuPair> sku_pairs(const std::vector<TimedRun>& runs);
// Of |error|; zero without pairs.
double median_error(const std::vector<SkuPair>& pairs);

}  // namespace stepcast
