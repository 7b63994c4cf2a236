// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/cluster_scale.hpp"

namespace stepcast {
namespace {

void scale_matrix_rate(DeviceSpec& device, double factor) {
  for (std::optional<FlopsPerCycle>& rate : device.matrix_rate) {
    if (rate) {
      *rate = factor * *rate;
    }
  }
  // Of a matrix cycle, which does `factor` as many FLOPs.
  for (std::optional<Joules>& energy : device.kernels.power.matrix_energy) {
    if (energy) {
      *energy = factor * *energy;
    }
  }
}

void scale_latency(DeviceSpec& device, double factor) {
  CollectiveConstants& library = device.collectives;
  for (Seconds* latency :
       {&device.launch_latency, &device.graph_launch_latency, &device.scale_up.base_latency,
        &device.scale_up.hop_latency, &device.scale_out.base_latency, &device.scale_out.hop_latency,
        &library.message.base}) {
    *latency = factor * *latency;
  }
  for (ProtocolConstants* protocol : {&library.ll, &library.ll128, &library.simple}) {
    protocol->base = factor * protocol->base;
    protocol->hop = factor * protocol->hop;
    protocol->network_hop = factor * protocol->network_hop;
  }
  if (library.in_switch) {
    library.in_switch->base = factor * library.in_switch->base;
  }
}

}  // namespace

ClusterSpec scaled(ClusterSpec cluster, const ClusterScale& scale) {
  DeviceSpec& device = cluster.device;
  scale_matrix_rate(device, scale.matrix_rate);
  device.hbm.peak = scale.hbm_bandwidth * device.hbm.peak;
  device.hbm.achieved = scale.hbm_bandwidth * device.hbm.achieved;
  device.scale_up.link_rate = scale.scale_up_bandwidth * device.scale_up.link_rate;
  device.scale_out.nic_rate = scale.scale_out_bandwidth * device.scale_out.nic_rate;
  scale_latency(device, scale.latency);
  return cluster;
}

}  // namespace stepcast
