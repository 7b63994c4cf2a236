// SPDX-License-Identifier: Apache-2.0
// The models of all dispatchers, each defined in the file of its name, and the price of any
// exchange by the model of its dispatcher.
#pragma once

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/layer/dispatcher_model.hpp"

namespace stepcast::dispatchers {

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define STEPCAST_DECLARED(enumerator, name, section) extern const DispatcherModel name;
STEPCAST_DISPATCHERS(STEPCAST_DECLARED)
#undef STEPCAST_DECLARED

}  // namespace stepcast::dispatchers

namespace stepcast {

// The one whose kernels were timed alone, so that `stepcast calibrate` can fit their constants.
inline constexpr Dispatcher kTimedDispatcher = Dispatcher::kDeepEp;

// The price of an exchange of tokens among the ranks that hold the experts, by dispatcher.
//
//   t = max(copy by compute units, scale-up bytes / B_up, scale-out bytes / B_out)
//       + start-up + local passes over HBM + waiting for the host
// with the rows of expert_traffic.hpp; the most loaded rank sets the pace. Each dispatcher's file
// has its own form. Constants are hardware_profiles/exchange.
//
// Not priced here: what a framework does before and after in kernels of its own (routing, permuting
// for all-to-all, copying tokens into symmetric memory), and what a slower peer makes others wait.
OpCost exchange_cost(const ExpertExchange& op, const FabricContext& context,
                     const CollectiveModel& collectives);

}  // namespace stepcast
