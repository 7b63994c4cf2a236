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
#include "stepcast/layer/expert_expansion.hpp"

namespace stepcast {
namespace {

void gather_tokens(ExpertLayer& layer, const Collective& tokens, const Collective& sums) {
  const BlockBuilder::ModuleScope scope(layer.build(), {RecomputeModule::kMoeDispatch});
  BlockBuilder& build = layer.build();
  build.forward_collective(OpId::kMoeDispatch, tokens);
  build.backward_collective(OpId::kMoeDispatch, sums);
  // The map has a byte an entry and the probabilities four.
  const std::int64_t choices = layer.shape().ranks * layer.shape().tokens * layer.moe().experts;
  build.forward_collective(OpId::kMoeDispatchMap,
                           layer.over_ranks(CollectiveOp::kAllGather, choices, Bytes(5)));
  build.backward_collective(OpId::kMoeDispatchMap,
                            layer.over_ranks(CollectiveOp::kReduceScatter, choices, Bytes(4)));
  layer.permute(OpId::kMoePermute, MemoryBoundKind::kPermute, layer.rows());
}

// All-gather tokens and probabilities, permute the own experts' rows, sum locally, reduce-scatter.
void allgather_operators(ExpertLayer& layer) {
  const std::int64_t everyone = layer.shape().ranks * layer.shape().tokens;
  const std::int64_t values = everyone * layer.shape().hidden;
  const Collective tokens = layer.over_ranks(CollectiveOp::kAllGather, values, Bytes(2));
  const Collective sums = layer.over_ranks(CollectiveOp::kReduceScatter, values, Bytes(2));
  gather_tokens(layer, tokens, sums);
  layer.experts();
  layer.permute(OpId::kMoeUnpermute, MemoryBoundKind::kUnpermute, layer.rows());
  layer.build().forward_collective(OpId::kMoeCombine, sums);
  layer.build().backward_collective(OpId::kMoeCombine, tokens);
}

std::vector<ExchangeBuffer> gathered_tokens(const LayerExchange& exchange) {
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
    .operators = allgather_operators,
    .buffers_last = false,
    .buffers = gathered_tokens,
    .price = allgather_price,
};

}  // namespace stepcast
