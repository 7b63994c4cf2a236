// SPDX-License-Identifier: Apache-2.0
// What others measured: the runs of hardware_profiles/published_runs.json, which
// scripts/update_published_runs.sh writes from the shipped measurements.
#pragma once

#include <cstddef>
#include <vector>

#include "stepcast/hardware/data_root.hpp"
#include "stepcast/result/projection.hpp"
#include "stepcast/result/published_run.hpp"

namespace stepcast {

// Reads the file; nothing without it. Throws ConfigError with all of its problems.
std::vector<PublishedRun> load_published_runs(const DataRoot& data);

// Whether two runs are of one model: of one family, and of as many parameters to a hundredth. Names
// do not tell, since a run may change a model that has one.
bool is_same_model(const PublishedRun& run, double parameters, AccuracyFamily family);

// Of `known` those that stand beside the run that was projected, the nearest first, at most `most`:
//   1. of its model on its GPU
//   2. of its model on another GPU
//   3. on its GPU, of a model of its family with at most 1.5 times more or fewer parameters
// In each the nearest number of GPUs, as a ratio, goes first, then those in the same number format.
std::vector<PublishedRun> nearest_runs(const std::vector<PublishedRun>& known,
                                       const Projection& projection, AccuracyFamily family,
                                       std::size_t most);

}  // namespace stepcast
