// SPDX-License-Identifier: Apache-2.0
#include "backends/collective/link_group.hpp"

#include <algorithm>

namespace stepcast {
namespace {

BytesPerSecond inside_rate(const ScaleUpSpec& fabric, std::int64_t members) {
  const double wire_links = static_cast<double>(fabric.links) * fabric.efficiency;
  if (fabric.topology == ScaleUpTopology::kSwitch || fabric.domain_size <= 1) {
    return wire_links * fabric.link_rate;
  }
  const auto peers = static_cast<double>(members - 1);
  const auto all_peers = static_cast<double>(fabric.domain_size - 1);
  return std::min(1.0, peers / all_peers) * wire_links * fabric.link_rate;
}

BytesPerSecond outside_rate(const ClusterSpec& cluster, ProcessGroup group) {
  const ScaleOutSpec& nics = cluster.device.scale_out;
  BytesPerSecond rate = nics.nics_per_gpu * nics.efficiency * nics.nic_rate;
  const std::int64_t pod = cluster.network.nodes_per_pod;
  const std::int64_t ranks_per_pod = pod * cluster.gpus_per_node;
  if (pod > 0 && group.size * group.stride > ranks_per_pod) {
    rate = rate / cluster.network.oversubscription;
  }
  return rate;
}

}  // namespace

LinkGroup link_group(ProcessGroup group, const ClusterSpec& cluster) {
  const std::int64_t domain = cluster.domain_size();
  const ScaleUpSpec& fabric = cluster.device.scale_up;
  const ScaleOutSpec& nics = cluster.device.scale_out;
  LinkGroup links;
  links.ranks = group.size;
  links.members = members_in_domain(group, domain);
  links.domains = domains_spanned(group, domain);
  links.inside = inside_rate(fabric, links.members);
  links.outside = outside_rate(cluster, group);
  links.base_latency = fabric.base_latency + (links.domains > 1 ? nics.base_latency : Seconds{});
  links.inside_hop = fabric.hop_latency;
  links.outside_hop = nics.hop_latency;
  return links;
}

}  // namespace stepcast
