// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/link_group.hpp"

#include <algorithm>

namespace stepcast {
namespace {

bool is_mesh(const ScaleUpSpec& fabric) {
  return fabric.topology == ScaleUpTopology::kFullMesh && fabric.domain_size > 1;
}

BytesPerSecond wire_rate(const ScaleUpSpec& fabric, std::int64_t members) {
  const BytesPerSecond all = static_cast<double>(fabric.links) * fabric.link_rate;
  if (!is_mesh(fabric)) {
    return all;
  }
  const auto peers = static_cast<double>(members - 1);
  const auto all_peers = static_cast<double>(fabric.domain_size - 1);
  return std::min(1.0, peers / all_peers) * all;
}

BytesPerSecond outside_rate(const ClusterSpec& cluster, ProcessGroup group) {
  const ScaleOutSpec& nics = cluster.device.scale_out;
  BytesPerSecond rate = nics.nics_per_gpu * nics.efficiency * nics.nic_rate;
  if (leaves_pod(group, cluster)) {
    rate = rate / cluster.network.oversubscription;
  }
  return rate;
}

BytesPerSecond across_rails_rate(const ClusterSpec& cluster, BytesPerSecond outside,
                                 ProcessGroup group) {
  const bool rails = cluster.network.topology == NetworkTopology::kRailOptimisedFatTree;
  return rails && !leaves_pod(group, cluster) ? outside / cluster.network.oversubscription
                                              : outside;
}

}  // namespace

bool leaves_pod(ProcessGroup group, const ClusterSpec& cluster) {
  const std::int64_t pod = cluster.network.nodes_per_pod;
  return pod > 0 && group.extent() > pod * cluster.gpus_per_node;
}

bool leaves_leaf(ProcessGroup group, const ClusterSpec& cluster) {
  const std::int64_t leaf = cluster.network.nodes_per_leaf;
  return leaf > 0 && group.extent() > leaf * cluster.gpus_per_node;
}

LinkGroup link_group(ProcessGroup group, const ClusterSpec& cluster) {
  const std::int64_t domain = cluster.domain_size();
  const ScaleUpSpec& fabric = cluster.device.scale_up;
  const ScaleOutSpec& nics = cluster.device.scale_out;
  LinkGroup links;
  links.ranks = group.size;
  links.members = members_in_domain(group, domain);
  links.domains = domains_spanned(group, domain);
  links.mesh = is_mesh(fabric);
  links.wire_inside = wire_rate(fabric, links.members);
  links.inside = fabric.efficiency * links.wire_inside;
  links.outside = outside_rate(cluster, group);
  links.ring_outside =
      leaves_leaf(group, cluster) ? cluster.network.beyond_leaf * links.outside : links.outside;
  links.across_rails = across_rails_rate(cluster, links.outside, group);
  links.network_base = links.domains > 1 ? nics.base_latency : Seconds{};
  links.base_latency = fabric.base_latency + links.network_base;
  links.inside_hop = fabric.hop_latency;
  links.outside_hop = nics.hop_latency;
  return links;
}

}  // namespace stepcast
