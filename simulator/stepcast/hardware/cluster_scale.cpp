// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/cluster_scale.hpp"

#include "stepcast/hardware/cluster_spec.hpp"
#include "stepcast/hardware/collective_tables.hpp"
#include "stepcast/hardware/device_tables.hpp"
#include "stepcast/hardware/exchange_tables.hpp"
#include "stepcast/hardware/host_tables.hpp"
#include "stepcast/hardware/kernel_tables.hpp"

namespace stepcast {
namespace {

// A count has no rate and no latency.
void multiply(double, std::int64_t&) {}

template <typename Q>
void multiply(double factor, Q& value) {
  value = factor * value;
}

template <typename Q>
void multiply(double factor, std::optional<Q>& value) {
  if (value) {
    multiply(factor, *value);
  }
}

template <typename Q>
void multiply(double factor, PerDtype<Q>& values) {
  for (std::optional<Q>& value : values) {
    multiply(factor, value);
  }
}

}  // namespace

ClusterSpec scaled(ClusterSpec cluster, const ClusterScale& scale) {
  const auto follow = [&scale](const std::string&, const ConstantInfo& constant, auto& value) {
    if (constant.scales_with != nullptr) {
      multiply(scale.*constant.scales_with, value);
    }
  };
  DeviceSpec& device = cluster.device;
  for_each_value(device_tables::kParts, "", device, follow);
  for_each_value(kernel_tables::kParts, "", device.kernels, follow);
  for_each_value(collective_tables::kParts, "", device.collectives, follow);
  for (DispatcherConstants& dispatcher : device.exchange.dispatchers) {
    for_each_value(exchange_tables::kPartsOfKernels, "", dispatcher, follow);
  }
  for_each_value(host_tables::kParts, "", cluster.host, follow);
  cluster.host.pace = scale.host_time * cluster.host.pace;
  return cluster;
}

}  // namespace stepcast
