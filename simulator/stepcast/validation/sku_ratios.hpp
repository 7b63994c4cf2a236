// SPDX-License-Identifier: Apache-2.0
// How much faster one GPU is than another at the same work: predicted against measured.
//
//   error = (predicted rate of B / predicted rate of A) / (measured rate of B / of A) - 1
//
// The same work: model, plan as it was resolved, sequence, batches, format, recomputation and
// number of GPUs. Where several runs of one GPU do the same work, with other versions of the
// software, their medians count. What one software stack does better on one part than on another is
// in the error.
#pragma once

#include <string>
#include <vector>

#include "stepcast/result/timed_runs.hpp"

namespace stepcast {

// By work, then GPU.
std::vector<SkuPair> sku_pairs(const std::vector<TimedRun>& runs);
// Of |error|; zero without pairs.
double median_error(const std::vector<SkuPair>& pairs);

}  // namespace stepcast
