// SPDX-License-Identifier: Apache-2.0
// HybridEP: rows once a node over the network, then once a rank, with the permutation of the copies
// in the op.
//
//   dispatch = kernel + all-gather of the routing map (W T E bytes) + W T E / scan_rate + host_sync
//              + permute
//   combine  = kernel + permute
//   permute  = T (D(W) + K) b / (local_share B_hbm): received rows read, copies written, or back
// The kernel is that of exchange_kernel.hpp.
//
// Assumes that the map is a byte for each token and expert, and that nothing of this overlaps.
// Wrong for fp8 in domains larger than 8 GPUs at 16 units, where it is published as slower than 16
// bits.
#include "backends/exchange/dispatchers.hpp"
#include "backends/exchange/exchange_kernel.hpp"
#include "stepcast/base/real.hpp"

namespace stepcast {
namespace {

// Every rank learns where every token goes, and finds the places of its rows.
void add_metadata(OpCost& cost, const ExpertExchange& op, const FabricContext& context,
                  const CollectiveModel& collectives) {
  const DispatcherConstants& constants = context.cluster.device.exchange.hybridep;
  Collective map;
  map.op = CollectiveOp::kAllGather;
  map.bytes = Bytes(real(op.group.size) * real(op.tokens) * real(op.experts));
  map.group = op.group;
  map.axis = Axis::kExpert;
  add_part(cost, {"routing_map", collectives.collective(map, {context.cluster}).duration},
           context.detail);
  if (constants.scan_rate > BytesPerSecond{}) {
    add_part(cost, {"scan", map.bytes / constants.scan_rate}, context.detail);
  }
  add_part(cost, {"host_sync", constants.host_sync}, context.detail);
}

}  // namespace

OpCost hybridep_exchange(const ExpertExchange& op, const FabricContext& context,
                         const CollectiveModel& collectives) {
  const DeviceSpec& device = context.cluster.device;
  const DispatcherConstants& constants = device.exchange.hybridep;
  const bool dispatch = op.phase == ExchangePhase::kDispatch;
  const ExchangeTraffic traffic = expert_traffic(op, context.cluster.domain_size());
  RowTransfer transfer = transfer_of(op, traffic);
  transfer.units = units_of(op, constants.units, device);
  const TransferTime time =
      transfer_time(transfer, dispatch ? constants.dispatch : constants.combine,
                    exchange_links(op, context.cluster), constants.relay_share);
  OpCost cost = kernel_cost(time, transfer.units, context.detail);
  const double passed = traffic.inside_peak * (traffic.rows + traffic.copies);
  add_part(cost,
           {dispatch ? "permute" : "unpermute",
            passed * traffic.row / (constants.local_share * device.hbm.achieved)},
           context.detail);
  if (dispatch) {
    add_metadata(cost, op, context, collectives);
  }
  return cost;
}

}  // namespace stepcast
