// SPDX-License-Identifier: Apache-2.0
// DeepEP's kernels of version 2.
//
//   t = as deepep.cpp; without a number of units the one of its formula: with w rows written and r
//   read for each token, and t the time of the links for them,
//   units = 1.25 max(r b / 200 GB/s, w b / 50 GB/s) / t, up to an even number, 4 at least;
//   w = D(W), between nodes + D(N); the links at 0.9 of their wire rate
//
// Both permutations are inside the exchange. The waiting of the host for the counts of rows lies in
// the start-up. Memory is taken to be that of version 1 with its number of units, which is not
// published for version 2.
#include <algorithm>
#include <cmath>

#include "stepcast/dispatchers/deepep.hpp"
#include "stepcast/dispatchers/dispatcher_table.hpp"
#include "stepcast/dispatchers/exchange_kernel.hpp"

namespace stepcast {
namespace {

OpCost deepep_v2_price(const ExpertExchange& op, const FabricContext& context,
                       const CollectiveModel& /*collectives*/) {
  const ClusterSpec& cluster = context.cluster;
  const std::int64_t stated = constants_of(op, context).units;
  const std::int64_t usual = stated > 0 ? stated : deepep_v2_units(op, cluster);
  return kernel_price(op, expert_traffic(op, cluster.domain_size()), context,
                      units_of(op, usual, cluster.device));
}

}  // namespace

std::int64_t deepep_v2_units(const ExpertExchange& op, const ClusterSpec& cluster) {
  const UnitChoiceConstants& choice = cluster.device.libraries.deepep_v2_units;
  const ExchangeTraffic traffic = expert_traffic(op, cluster.domain_size());
  const ExchangeLinks links = exchange_links(op, cluster);
  const BytesPerSecond wire = links.inside / cluster.device.scale_up.efficiency;
  const Seconds link_time = max(traffic.rows_inside * traffic.row / (choice.link_share * wire),
                                traffic.rows_outside * traffic.row / links.outside);
  const auto tokens = static_cast<double>(op.tokens);
  const Seconds reads = (tokens + traffic.node_rows) * traffic.row / choice.read_rate;
  const Seconds writes = (traffic.rows + traffic.node_rows) * traffic.row / choice.write_rate;
  const auto most = static_cast<double>(cluster.device.compute_units);
  const double needed = link_time > Seconds{}
                            ? std::min(most, choice.margin * (max(reads, writes) / link_time))
                            : 0.0;
  const auto pairs = static_cast<std::int64_t>(std::ceil(0.5 * needed));
  return std::max(choice.fewest, 2 * pairs);
}

constinit const DispatcherModel dispatchers::deepep_v2 = [] {
  DispatcherModel model = kDeepEpNormal;
  model.equation = "as deepep, with units = 1.25 x unit copies / link time, even, at least 4";
  model.assumptions = "200 GB/s read and 50 GB/s written a unit decide on the units";
  model.source = "DeepEP V2: published tables, and its choice of units";
  model.units_as = Dispatcher::kDeepEp;
  model.price = deepep_v2_price;
  return model;
}();

}  // namespace stepcast
