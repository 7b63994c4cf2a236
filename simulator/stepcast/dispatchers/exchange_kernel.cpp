// SPDX-License-Identifier: Apache-2.0
#include "stepcast/dispatchers/exchange_kernel.hpp"

#include <algorithm>

#include "stepcast/base/real.hpp"
#include "stepcast/hardware/link_group.hpp"

namespace stepcast {
namespace {

// Nothing where there is nothing to carry or no limit.
Seconds time_at(Bytes bytes, BytesPerSecond rate) {
  return bytes > Bytes{} && rate > BytesPerSecond{} ? bytes / rate : Seconds{};
}

Seconds copy_time(const RowTransfer& transfer, const ExchangeKernel& kernel) {
  const double rows = transfer.rows;
  Seconds copy = rows * kernel.row_interval;
  if (transfer.units > 0) {
    const Seconds of_token = kernel.token_time + time_at(transfer.row, kernel.token_rate);
    const Seconds of_row = kernel.row_time + time_at(transfer.row, kernel.row_rate);
    copy += (transfer.tokens * of_token + rows * of_row) / real(transfer.units);
  }
  return copy;
}

}  // namespace

RowTransfer transfer_of(const ExpertExchange& op, const ExchangeTraffic& traffic) {
  RowTransfer transfer;
  transfer.tokens = real(op.tokens);
  transfer.rows = traffic.inside_peak * traffic.rows;
  transfer.row = traffic.row;
  transfer.inside = traffic.inside_peak * traffic.rows_inside * traffic.row;
  transfer.outside = traffic.outside_peak * traffic.rows_outside * traffic.row;
  return transfer;
}

ExchangeLinks exchange_links(const ExpertExchange& op, const ClusterSpec& cluster) {
  const LinkGroup links = link_group(op.group, cluster);
  return {links.inside, links.outside / cluster.device.scale_out.efficiency};
}

TransferTime transfer_time(const RowTransfer& transfer, const ExchangeKernel& kernel,
                           const ExchangeLinks& links, double relay_share) {
  const double relay = transfer.outside > Bytes{} ? relay_share : 1.0;
  TransferTime time;
  time.start_up = kernel.start_up + time_at(transfer.row, kernel.first_row_rate);
  time.copy = copy_time(transfer, kernel);
  time.inside = time_at(transfer.inside, relay * kernel.link_share * links.inside);
  time.outside = time_at(transfer.outside, kernel.network_share * links.outside);
  return time;
}

OpCost kernel_cost(const TransferTime& time, std::int64_t units, Detail detail) {
  const Seconds transfer = time.transfer();
  OpCost cost;
  cost.duration = time.start_up + transfer;
  cost.units = units;
  const bool copies = time.copy >= max(time.inside, time.outside);
  const Bound bound = copies ? Bound::kCompute : Bound::kBandwidth;
  cost.bound = transfer < time.start_up ? Bound::kLatency : bound;
  if (detail == Detail::kTerms) {
    const std::string_view name = copies                        ? "copy"
                                  : time.inside >= time.outside ? "scale_up"
                                                                : "scale_out";
    cost.terms = {{"start_up", time.start_up}, {name, transfer}};
  }
  return cost;
}

void add_part(OpCost& cost, CostTerm part, Detail detail) {
  cost.duration += part.duration;
  if (detail == Detail::kTerms) {
    cost.terms.push_back(part);
  }
}

const DispatcherConstants& constants_of(const ExpertExchange& op, const FabricContext& context) {
  return context.cluster.device.exchange.of(op.dispatcher);
}

const ExchangeKernel& kernel_of(const ExpertExchange& op, const FabricContext& context) {
  const DispatcherConstants& constants = constants_of(op, context);
  return op.phase == ExchangePhase::kDispatch ? constants.dispatch : constants.combine;
}

OpCost kernel_price(const ExpertExchange& op, const ExchangeTraffic& traffic,
                    const FabricContext& context, std::int64_t units) {
  RowTransfer transfer = transfer_of(op, traffic);
  transfer.units = units;
  const TransferTime time =
      transfer_time(transfer, kernel_of(op, context), exchange_links(op, context.cluster),
                    constants_of(op, context).relay_share);
  return kernel_cost(time, units, context.detail);
}

std::int64_t units_of(const ExpertExchange& op, std::int64_t usual, const DeviceSpec& device) {
  return std::min(op.compute_units > 0 ? op.compute_units : usual, device.compute_units);
}

}  // namespace stepcast
