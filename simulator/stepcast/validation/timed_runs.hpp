// SPDX-License-Identifier: Apache-2.0
// Projections of many experiments on all processors; measured runs of files beside what is
// predicted of them, for questions that take several runs at a time: which of some plans is the
// fastest (plan_regret.hpp), how much faster another GPU is (sku_ratios.hpp).
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

}  // namespace stepcast
