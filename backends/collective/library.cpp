// SPDX-License-Identifier: Apache-2.0
// Collectives as NCCL and RCCL run them: their algorithms and protocols, and their choice by size.
// The equations stand in collective_time.hpp and model/collective_algorithm.cpp.
#include "backends/builtin_backends.hpp"
#include "backends/collective/collective_time.hpp"
#include "stepcast/cost/contention.hpp"
#include "stepcast/dispatchers/dispatcher_table.hpp"

namespace stepcast {
namespace {

// The rate that was measured on the cluster, and the volume that its bus bandwidth counts, in parts
// of the tensor.
struct MeasuredRate {
  std::optional<BytesPerSecond> rate;
  double volume = 1.0;
};
MeasuredRate measured_rate(CollectiveOp op, const BusRates& rates) {
  switch (op) {
    case CollectiveOp::kAllReduce:
      return {rates.all_reduce, 2.0};
    case CollectiveOp::kAllGather:
      return {rates.all_gather};
    case CollectiveOp::kReduceScatter:
      return {rates.reduce_scatter};
    case CollectiveOp::kAllToAll:
      return {rates.all_to_all};
    case CollectiveOp::kSendRecv:
    case CollectiveOp::kBroadcast:
      break;
  }
  return {};
}

// Between nodes a measured rate stands for what bytes take at full rate; latency stays.
void take_measured_rate(const Collective& op, const LinkGroup& links, const NetworkSpec& network,
                        CollectiveTime& time) {
  const MeasuredRate measured = measured_rate(op.op, network.bus_rates);
  if (links.domains <= 1 || !measured.rate) {
    return;
  }
  const auto ranks = static_cast<double>(links.ranks);
  const Seconds transfer =
      measured.volume * op.imbalance * (ranks - 1.0) / ranks * op.bytes / *measured.rate;
  time.duration += transfer - time.transfer;
  time.transfer = transfer;
  time.outside = true;
}

class LibraryCollective final : public CollectiveModel {
 public:
  [[nodiscard]] OpCost collective(const Collective& op,
                                  const FabricContext& context) const override {
    if (op.group.size <= 1) {
      return {};
    }
    const DeviceSpec& device = context.cluster.device;
    const LinkGroup links = link_group(op.group, context.cluster);
    CollectiveTime time = library_time(op, {links, device.collectives});
    take_measured_rate(op, links, context.cluster.network, time);
    OpCost cost;
    cost.hbm = hbm_traffic(op);
    cost.duration = time.duration;
    const Seconds latency = time.duration - time.transfer;
    cost.bound = time.transfer < latency ? Bound::kLatency : Bound::kBandwidth;
    cost.units = device.scale_up.kernel_units;
    cost.algorithm = name(time.algorithm);
    cost.protocol = name(time.protocol);
    if (context.detail == Detail::kTerms) {
      cost.terms = {{"latency", latency}, {time.outside ? "scale_out" : "scale_up", time.transfer}};
    }
    return cost;
  }

  [[nodiscard]] OpCost exchange(const ExpertExchange& op,
                                const FabricContext& context) const override {
    return exchange_cost(op, context, *this);
  }
};

}  // namespace

std::shared_ptr<const CollectiveModel> make_library_collective() {
  return std::make_shared<LibraryCollective>();
}

}  // namespace stepcast
