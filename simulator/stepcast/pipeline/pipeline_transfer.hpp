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

#include "stepcast/base/units.hpp"

namespace stepcast {

// How long one micro-batch is in a stage, forward and backward together.
struct StageTraffic {
  Seconds passes;
  Seconds communication;  // over the fabric of the transfer
};

Seconds shared_transfer(Seconds transfer, const std::vector<StageTraffic>& stages);

}  // namespace stepcast
