// SPDX-License-Identifier: Apache-2.0
// The operators of an optimizer step of a pipeline rank, with the passes over gradients around it
// and the collectives that bring updated parameters back.
#pragma once

#include <cstdint>
#include <vector>

#include "stepcast/graph/op.hpp"
#include "stepcast/layer/layer_expansion.hpp"
#include "stepcast/layer/sharding.hpp"

namespace stepcast {

// Operators that run `times` times one after the other.
struct RepeatedOps {
  OpList ops;
  std::int64_t times = 1;
};
using UpdateOps = std::vector<RepeatedOps>;

// Elements that a rank updates of those that it trains: its shard, if the optimizer is divided.
double updated_elements(const ExpansionContext& context, const LocalParameters& trained);

// What a rank that holds these weights runs once a step. Parameters that the host updates are left
// out.
UpdateOps optimizer_ops(const ExpansionContext& context, const HeldWeights& held);

}  // namespace stepcast
