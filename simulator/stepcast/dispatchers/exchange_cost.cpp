// SPDX-License-Identifier: Apache-2.0
#include "stepcast/dispatchers/exchange_cost.hpp"

#include "stepcast/layer/dispatcher_model.hpp"

namespace stepcast {

OpCost exchange_cost(const ExpertExchange& op, const FabricContext& context,
                     const CollectiveModel& collectives) {
  return op.group.size > 1 ? model_of(op.dispatcher).price(op, context, collectives) : OpCost{};
}

}  // namespace stepcast
