// SPDX-License-Identifier: Apache-2.0
// The price of an exchange of tokens among the ranks that hold the experts, by dispatcher.
//
//   t = max(copy by compute units, scale-up bytes / B_up, scale-out bytes / B_out)
//       + start-up + local passes over HBM + waiting for the host
// with the rows of expert_traffic.hpp; the most loaded rank sets the pace. Each dispatcher's file
// has its own form. Constants are hardware_profiles/exchange.
//
// Not priced here: what a framework does before and after in kernels of its own (routing, permuting
// for all-to-all, copying tokens into symmetric memory), and what a slower peer makes others wait.
#pragma once

#include "stepcast/cost/cost_model.hpp"

namespace stepcast {

OpCost exchange_cost(const ExpertExchange& op, const FabricContext& context,
                     const CollectiveModel& collectives);

}  // namespace stepcast
