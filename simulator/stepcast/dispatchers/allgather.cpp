// SPDX-License-Identifier: Apache-2.0
// Megatron's allgather dispatcher over the collectives' library.
//
//   dispatch  all-gather of the W T rows
//   combine   reduce-scatter of as many
//
// All tokens go to all ranks. Local maps of the routing, permutations and sums are operators of
// their own. Memory: the gathered tokens, and the sums to be scattered, 2 W T H b.
#include "stepcast/base/real.hpp"
#include "stepcast/dispatchers/dispatcher_table.hpp"
#include "stepcast/dispatchers/exchange_kernel.hpp"

namespace stepcast {
namespace {

std::vector<ExchangeBuffer> gathered_tokens(const BufferedExchange& exchange) {
  const ExchangeShape& shape = exchange.shape;
  return {both_ways("gathered tokens", shape.ranks * shape.tokens, shape)};
}

OpCost allgather_price(const ExpertExchange& op, const FabricContext& context,
                       const CollectiveModel& collectives) {
  const bool dispatch = op.phase == ExchangePhase::kDispatch;
  Collective collective;
  collective.op = dispatch ? CollectiveOp::kAllGather : CollectiveOp::kReduceScatter;
  collective.bytes = real(op.tokens) * real(op.group.size) * exchange_row(op);
  collective.group = op.group;
  collective.axis = Axis::kExpert;
  OpCost cost = collectives.collective(collective, context);
  cost.units = context.cluster.device.scale_up.kernel_units;
  return cost;
}

}  // namespace

constinit const DispatcherModel dispatchers::allgather = {
    .equation = "the backend's all-gather (dispatch) or reduce-scatter (combine) of W T rows",
    .assumptions = "all tokens go to all ranks; local maps and sums are other operators",
    .source = "Megatron-LM, moe_token_dispatcher_type allgather",
    .dispatch = {.usual = ExchangePrimitive::kAllGather},
    .combine = {.usual = ExchangePrimitive::kReduceScatter},
    .receives = {.dynamic = true},
    .buffers_last = false,
    .buffers = gathered_tokens,
    .price = allgather_price,
};

}  // namespace stepcast
