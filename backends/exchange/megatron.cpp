// SPDX-License-Identifier: Apache-2.0
// Megatron's dispatchers over the collectives' library.
//
//   allgather   dispatch: all-gather of the W T rows; combine: reduce-scatter of as many
//   alltoall    all-to-all of the T K rows; at dispatch the host waits for the counts of rows, for
//               which there is a small all-to-all: + host_sync + all-to-all of the counts. With a
//               capacity factor the splits are equal and known, and nothing waits.
//
// Permuting the rows before and after is done elsewhere. Assumes that the library's all-to-all with
// unequal splits takes the time of equal ones of the most loaded rank.
#include "backends/exchange/dispatchers.hpp"
#include "backends/exchange/exchange_kernel.hpp"
#include "stepcast/base/real.hpp"

namespace stepcast {
namespace {

constexpr Bytes kCountBytes{8.0};  // of an expert's rows

}  // namespace

OpCost allgather_exchange(const ExpertExchange& op, const FabricContext& context,
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

OpCost alltoall_exchange(const ExpertExchange& op, const FabricContext& context,
                         const CollectiveModel& collectives) {
  const ExchangeTraffic traffic = expert_traffic(op, context.cluster.domain_size());
  Collective collective;
  collective.op = CollectiveOp::kAllToAll;
  collective.bytes = traffic.rows * traffic.row;
  collective.group = op.group;
  collective.axis = Axis::kExpert;
  collective.imbalance = traffic.inside_peak;
  OpCost cost = collectives.collective(collective, context);
  cost.units = context.cluster.device.scale_up.kernel_units;
  if (op.phase == ExchangePhase::kDispatch && !(op.capacity_factor > 0.0)) {
    collective.bytes = real(op.experts) * kCountBytes;
    collective.imbalance = 1.0;
    const FabricContext plain{context.cluster};
    add_part(cost, {"counts", collectives.collective(collective, plain).duration}, context.detail);
    add_part(cost, {"host_sync", context.cluster.device.exchange.alltoall.host_sync},
             context.detail);
  }
  return cost;
}

}  // namespace stepcast
