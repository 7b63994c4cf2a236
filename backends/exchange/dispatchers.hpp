// SPDX-License-Identifier: Apache-2.0
// One function for each family of dispatchers; a group of one rank never gets here.
#pragma once

#include "backends/exchange/exchange.hpp"

namespace stepcast {

OpCost allgather_exchange(const ExpertExchange& op, const FabricContext& context,
                          const CollectiveModel& collectives);
OpCost alltoall_exchange(const ExpertExchange& op, const FabricContext& context,
                         const CollectiveModel& collectives);
OpCost deepep_exchange(const ExpertExchange& op, const FabricContext& context);
OpCost deepep_v2_exchange(const ExpertExchange& op, const FabricContext& context);
OpCost low_latency_exchange(const ExpertExchange& op, const FabricContext& context);
OpCost hybridep_exchange(const ExpertExchange& op, const FabricContext& context,
                         const CollectiveModel& collectives);
OpCost sonic_exchange(const ExpertExchange& op, const FabricContext& context);
OpCost minimal_async_ep_exchange(const ExpertExchange& op, const FabricContext& context);

// The units that DeepEP V2 takes where none are given: so many that its copies take at most as long
// as the links do.
std::int64_t deepep_v2_units(const ExpertExchange& op, const ClusterSpec& cluster);

}  // namespace stepcast
