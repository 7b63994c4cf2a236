// SPDX-License-Identifier: Apache-2.0
// Projections of many experiments on all processors.
#pragma once

#include <vector>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/result/projection.hpp"

namespace stepcast {

// One projection an experiment, in their order whatever the number of threads; of a null one an
// empty projection. The first exception by index is thrown after all have ended.
std::vector<Projection> projections_of(const std::vector<const Experiment*>& experiments,
                                       const CostModel& cost);

}  // namespace stepcast
