// SPDX-License-Identifier: Apache-2.0
// DeepEP's normal kernels (V1 and V2) and its low-latency ones.
//
//   deepep      exchange_kernel.hpp with one row a node over the network and one a rank inside
//   deepep_v2   the same; without a number of units the one of its formula: with w rows written and
//               r read for each token, and t the time of the links for them,
//               units = 1.25 max(r b / 200 GB/s, w b / 50 GB/s) / t, up to an even number, 4 at
//               least; w = D(W), between nodes + D(N); the links at 0.9 of their wire rate
//   deepep_low_latency  start_up + the longer of the T K rows' inside and outside parts; no
//               deduplication, and no unit is held while rows are on their way
//
// The waiting of the host for the counts of rows in V1 and V2 lies in the start-up. Dispatch in
// backward has a cached layout, which is not modelled. Assumes that all GPUs of a node are members;
// without that a rank gets its own NICs only.
#include <algorithm>
#include <cmath>

#include "backends/exchange/dispatchers.hpp"
#include "backends/exchange/exchange_kernel.hpp"

namespace stepcast {
namespace {

// DeepEP V2's own figures of a unit, and its choice of units.
constexpr BytesPerSecond kUnitReads{200e9};
constexpr BytesPerSecond kUnitWrites{50e9};
constexpr double kUnitMargin = 1.25;
constexpr double kLinkMargin = 0.9;
constexpr std::int64_t kFewestUnits = 4;

const ExchangeKernel& kernel_of(const ExpertExchange& op, const DispatcherConstants& constants) {
  return op.phase == ExchangePhase::kDispatch ? constants.dispatch : constants.combine;
}

OpCost normal_exchange(const ExpertExchange& op, const FabricContext& context,
                       const DispatcherConstants& constants, std::int64_t units) {
  const ExchangeTraffic traffic = expert_traffic(op, context.cluster.domain_size());
  RowTransfer transfer = transfer_of(op, traffic);
  transfer.units = units;
  const TransferTime time =
      transfer_time(transfer, kernel_of(op, constants), exchange_links(op, context.cluster),
                    constants.relay_share);
  return kernel_cost(time, units, context.detail);
}

}  // namespace

std::int64_t deepep_v2_units(const ExpertExchange& op, const ClusterSpec& cluster) {
  const ExchangeTraffic traffic = expert_traffic(op, cluster.domain_size());
  const ExchangeLinks links = exchange_links(op, cluster);
  const BytesPerSecond wire = links.inside / cluster.device.scale_up.efficiency;
  const Seconds link_time = max(traffic.rows_inside * traffic.row / (kLinkMargin * wire),
                                traffic.rows_outside * traffic.row / links.outside);
  const auto tokens = static_cast<double>(op.tokens);
  const Seconds reads = (tokens + traffic.node_rows) * traffic.row / kUnitReads;
  const Seconds writes = (traffic.rows + traffic.node_rows) * traffic.row / kUnitWrites;
  const auto most = static_cast<double>(cluster.device.compute_units);
  const double needed =
      link_time > Seconds{} ? std::min(most, kUnitMargin * (max(reads, writes) / link_time)) : 0.0;
  const auto pairs = static_cast<std::int64_t>(std::ceil(0.5 * needed));
  return std::max(kFewestUnits, 2 * pairs);
}

OpCost deepep_exchange(const ExpertExchange& op, const FabricContext& context) {
  const DispatcherConstants& constants = context.cluster.device.exchange.deepep;
  return normal_exchange(op, context, constants,
                         units_of(op, constants.units, context.cluster.device));
}

OpCost deepep_v2_exchange(const ExpertExchange& op, const FabricContext& context) {
  const std::int64_t usual = deepep_v2_units(op, context.cluster);
  return normal_exchange(op, context, context.cluster.device.exchange.deepep_v2,
                         units_of(op, usual, context.cluster.device));
}

OpCost low_latency_exchange(const ExpertExchange& op, const FabricContext& context) {
  return normal_exchange(op, context, context.cluster.device.exchange.low_latency, 0);
}

}  // namespace stepcast
