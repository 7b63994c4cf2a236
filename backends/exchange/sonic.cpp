// SPDX-License-Identifier: Apache-2.0
// SonicMoE's kernels over symmetric memory.
//
//   dispatch            start_up + rows over links / rate          ag, a2a, rank_dedup, node_dedup
//   combine, a2a        likewise
//   combine, rs and rank_dedup, node_dedup
//                       the same + local_combine: T K rows of the rank's experts read, and the sums
//                       for every rank (rs: W T rows) or for the ranks that sent them (T D(W) rows)
//                       written, at local_share of the HBM rate
//   auto                the fastest of those, as its profiler chooses for the op's phase
//
// Assumes that kernels fill the links with as many units as it takes, that nothing overlaps, and
// that tokens are in symmetric memory already. Published for 4 GPUs of one domain only.
#include <algorithm>
#include <array>

#include "backends/exchange/dispatchers.hpp"
#include "backends/exchange/exchange_kernel.hpp"

namespace stepcast {
namespace {

constexpr std::array kDispatchPrimitives = {
    ExchangePrimitive::kAllGather, ExchangePrimitive::kAllToAll, ExchangePrimitive::kRankDedup,
    ExchangePrimitive::kNodeDedup};
constexpr std::array kCombinePrimitives = {
    ExchangePrimitive::kReduceScatter, ExchangePrimitive::kAllToAll, ExchangePrimitive::kRankDedup,
    ExchangePrimitive::kNodeDedup};

OpCost primitive_cost(const ExpertExchange& op, const FabricContext& context) {
  const DeviceSpec& device = context.cluster.device;
  const DispatcherConstants& constants = device.exchange.sonic;
  const bool dispatch = op.phase == ExchangePhase::kDispatch;
  const ExchangeTraffic traffic = expert_traffic(op, context.cluster.domain_size());
  const RowTransfer transfer = transfer_of(op, traffic);
  const TransferTime time =
      transfer_time(transfer, dispatch ? constants.dispatch : constants.combine,
                    exchange_links(op, context.cluster), constants.relay_share);
  OpCost cost = kernel_cost(time, units_of(op, constants.units, device), context.detail);
  cost.algorithm = name(op.primitive);
  if (!dispatch && op.primitive != ExchangePrimitive::kAllToAll) {
    // The most loaded rank has the most copies as well.
    const Bytes passed = traffic.inside_peak * (traffic.copies + traffic.rows) * traffic.row;
    const Seconds local = passed / (constants.local_share * device.hbm.achieved);
    cost.bound = local > time.transfer() ? Bound::kMemory : cost.bound;
    add_part(cost, {"local_combine", local}, context.detail);
  }
  return cost;
}

}  // namespace

OpCost sonic_exchange(const ExpertExchange& op, const FabricContext& context) {
  if (op.primitive != ExchangePrimitive::kAuto) {
    return primitive_cost(op, context);
  }
  const bool dispatch = op.phase == ExchangePhase::kDispatch;
  OpCost fastest;
  bool first = true;
  for (const ExchangePrimitive primitive : dispatch ? kDispatchPrimitives : kCombinePrimitives) {
    ExpertExchange candidate = op;
    candidate.primitive = primitive;
    OpCost cost = primitive_cost(candidate, context);
    if (first || cost.duration < fastest.duration) {
      fastest = std::move(cost);
      first = false;
    }
  }
  return fastest;
}

}  // namespace stepcast
