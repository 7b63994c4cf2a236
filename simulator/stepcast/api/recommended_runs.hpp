// SPDX-License-Identifier: Apache-2.0
// A question about a training run, and its answers: of each GPU several numbers of them, each with
// the plan that a search found for it (sweep/run_search.hpp, sweep/best_plan.hpp).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "stepcast/api/chosen_backends.hpp"
#include "stepcast/result/recommendation.hpp"
#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast {

struct RunQuestion {
  // The work on any GPU: each candidate sets cluster.gpu and cluster.nodes on top of it.
  SweepSource work;
  std::vector<std::string> gpus;               // names, or files of profiles; at least one
  std::map<std::string, GpuHourPrice> prices;  // by the name of a GPU; of all or of none
  RunLimits limits;
  std::vector<std::string> constraints;  // on plans, as a sweep has them
  bool prove = false;  // every plan the best of all; else of large spaces a likely one
  int threads = 0;     // 0: as many as the process has processors
};

// Whether `work` gives a global batch.
bool gives_batch(const SweepSource& work);
// The same with a batch that frameworks of this size train with.
SweepSource with_usual_batch(const SweepSource& work, const std::string& gpu, const DataRoot& data);

// The names of the GPUs, in the order of the question: a file stands for the part that it is of.
std::vector<std::string> names_of_gpus(const RunQuestion& question, const DataRoot& data);

// Throws ConfigError: without training.tokens, or with a GPU that others have a price beside and
// that has none.
std::vector<RecommendedGpu> recommended_runs(const RunQuestion& question, const DataRoot& data);

}  // namespace stepcast
