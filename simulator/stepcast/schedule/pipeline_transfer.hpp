// SPDX-License-Identifier: Apache-2.0
// What the transfer of activations from stage to stage takes beside other communication.
//
// A transfer runs beside the passes of its sender and its receiver. While these use the same fabric
// (exchanges of tokens, sharded parameters and gradients between nodes) each has half of it:
//
//   transfer (1 + b),  b: the share of the passes that communicate over the fabric
//
// with the mean of all stages for b. That the passes themselves are slower meanwhile is left out: a
// transfer is short beside a pass.
#pragma once

#include <vector>

#include "stepcast/schedule/stage_work.hpp"
#include "stepcast/schedule/unit_prices.hpp"

namespace stepcast {

// `passes`: how long a micro-batch is in each stage, forward and backward.
Seconds shared_transfer(const StepWork& work, const StepTasks& tasks,
                        const std::vector<Seconds>& passes);

}  // namespace stepcast
