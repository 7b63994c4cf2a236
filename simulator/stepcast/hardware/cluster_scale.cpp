// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/cluster_scale.hpp"

#include "stepcast/hardware/cluster_spec.hpp"
#include "stepcast/hardware/collective_tables.hpp"
#include "stepcast/hardware/device_tables.hpp"
#include "stepcast/hardware/exchange_tables.hpp"
#include "stepcast/hardware/kernel_tables.hpp"

namespace stepcast {
namespace {

template <typename Owner, typename Parts>
void multiply(const ClusterScale& scale, const Parts& parts, Owner& owner) {
  SectionScale visit(scale, owner);
  parts(visit);
}

}  // namespace

ClusterSpec scaled(ClusterSpec cluster, const ClusterScale& scale) {
  DeviceSpec& device = cluster.device;
  multiply(scale, device_tables::kParts, device);
  multiply(scale, kernel_tables::kParts, device.kernels);
  multiply(scale, collective_tables::kParts, device.collectives);
  for (DispatcherConstants& dispatcher : device.exchange.dispatchers) {
    multiply(scale, exchange_tables::kPartsOfKernels, dispatcher);
  }
  return cluster;
}

}  // namespace stepcast
