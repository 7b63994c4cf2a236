// SPDX-License-Identifier: Apache-2.0
// Numbers of GPUs for a training run, each with a plan, from the fewest that could do it on.
//
// Days fall and GPU-hours rise with the number of GPUs, but neither does so always, since plans
// must divide. First a grid is looked at, powers of two of nodes and one and a half times as many,
// and the limit of GPUs itself. The first is the least with which the run could end in time if
// every GPU computed at its peak; the last is the limit, or twice the first that stays within the
// limits. A GPU of which more might beat in days and cost what was found of another one is looked
// at further.
//
// Then the answers are refined. Below the first number that stays within the limits every number of
// nodes is looked at, from the least with which the run could end in time if it took no fewer
// GPU-days than any number that was looked at, until one does. Between the last number within the
// limits and the next one beyond, where money or the days of a crowded batch end it, the largest is
// looked for by halves.
#pragma once

#include <functional>

#include "stepcast/experiment/experiment.hpp"
#include "stepcast/sweep/run_choice.hpp"

namespace stepcast {

// 1, 2, 3, 4, 6, 8, 12 ... nodes, as many as lie from `least` to `most`.
std::vector<std::int64_t> node_counts(std::int64_t least, std::int64_t most);

// Nodes with which the run of `experiment` takes `days` if every GPU computes at its peak rate: no
// fewer can do. 1 without days.
std::int64_t least_nodes(const Experiment& experiment, std::optional<double> days);

// What was found for this and other numbers of GPUs, where a search begins.
struct NearCandidates {
  std::vector<const RunCandidate*> found;
  bool widely = false;  // whether to look elsewhere, too
};
// The candidate of an experiment on so many nodes; called from several threads at once.
using CandidateOf = std::function<RunCandidate(std::size_t experiment, std::int64_t nodes,
                                               const NearCandidates& near)>;

// The answers for the GPU of each experiment, whose number of nodes does not matter, on so many
// threads: whose number changes none of them.
std::vector<RecommendedGpu> search_runs(const std::vector<Experiment>& experiments,
                                        const RunLimits& limits, const CandidateOf& candidate,
                                        int threads);

}  // namespace stepcast
