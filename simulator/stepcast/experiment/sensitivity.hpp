// SPDX-License-Identifier: Apache-2.0
// What one per cent more of a resource would buy: two projections, of the experiment and of the
// same with `cluster.scale` (hardware/cluster_scale.hpp) or `cluster.gpu_clock` a per cent higher,
// so that `stepcast project --set cluster.scale.hbm_bandwidth=1.01` says the same.
//
//   change = tokens/s/GPU scaled / tokens/s/GPU as it is - 1, in per cent
//
// A clock is taken from where the step runs, locked there, to one per cent above; where that is
// beyond the peak, from one per cent below. Latencies become one per cent longer, not shorter.
// What a plan is resolved to is the same in both.
#pragma once

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/result/explanation.hpp"
#include "stepcast/result/projection.hpp"

namespace stepcast {

// `base` is the projection of `experiment`; nothing if it was not timed.
std::vector<Sensitivity> sensitivities(const Experiment& experiment, const Projection& base,
                                       const CostModel& cost);

}  // namespace stepcast
