// SPDX-License-Identifier: Apache-2.0
// Collectives as NCCL and RCCL run them: their algorithms and protocols, and their choice by size.
// The equations stand in collective_time.hpp and model/collective_algorithm.cpp.
#include "backends/builtin_backends.hpp"
#include "backends/collective/collective_time.hpp"
#include "stepcast/cost/contention.hpp"
#include "stepcast/dispatchers/dispatcher_table.hpp"

namespace stepcast {
namespace {

class LibraryCollective final : public CollectiveModel {
 public:
  [[nodiscard]] OpCost collective(const Collective& op,
                                  const FabricContext& context) const override {
    if (op.group.size <= 1) {
      return {};
    }
    const DeviceSpec& device = context.cluster.device;
    const LinkGroup links = link_group(op.group, context.cluster);
    const CollectiveTime time = library_time(op, {links, device.collectives});
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
