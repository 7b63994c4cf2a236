// SPDX-License-Identifier: Apache-2.0
#include "importers/nanotron_network.hpp"

#include <algorithm>

#include "stepcast/base/real.hpp"

namespace stepcast {
namespace {

constexpr Range<double> kGigabytes{1e-3, 1e4};

// Of the tensor that the runs measured their network with. It is not stated: at this size the time
// of a step that follows is the one that tensor-parallel groups over 2 and 4 nodes show, 40 us
// while the network was sound and 300 us while it was not, whatever the size of their messages.
constexpr Bytes kBenchmarkTensor{1024.0 * 1024 * 1024};

// Inside a node the runs gathered either at 256 to 266 GB/s or at 220 to 247. In the latter
// everything waits: groups inside a node, too, take a step of the network's length at each rank. In
// the former groups inside a node are as fast as on one node alone.
constexpr BytesPerSecond kSoundGather{250e9};

// Some runs all-reduced there at 45 GB/s, a NIC's rate, where others did at 420 to 460: their GPUs
// did not reach each other over the scale-up fabric.
constexpr BytesPerSecond kAnyFabricInside{219e9};

bool is_sound(const MeasuredNetwork& network) { return network.all_gather_inside >= kSoundGather; }

BytesPerSecond nominal_rate(const ScaleOutSpec& nics) {
  return nics.nics_per_gpu * nics.efficiency * nics.nic_rate;
}

Seconds step_of_rank(const MeasuredNetwork& network, const ClusterSpec& cluster) {
  const double ranks = real(cluster.gpus());
  const double inside = real(cluster.gpus_per_node);
  const Bytes sent = (ranks - 1.0) / ranks * kBenchmarkTensor;
  const Bytes sent_inside = (inside - 1.0) / inside * kBenchmarkTensor;
  const Seconds more = sent / network.rings - sent_inside / network.all_gather_inside;
  return max(Seconds{}, more) / ranks;
}

// Ranks in one node of the groups that leave it: of tensor-parallel groups if they do, else of
// data-parallel ones.
double members_in_node(const GridGroups& groups, std::int64_t gpus_per_node) {
  return groups.tp > gpus_per_node ? real(gpus_per_node)
                                   : std::max(1.0, real(gpus_per_node) / real(groups.tp));
}

void keep(NetworkKeys& keys, const char* key, std::string value, const std::string& reason) {
  keys.assumed.push_back("cluster." + std::string(key) + " " + value + ": " + reason);
  keys.cluster[key] = std::move(value);
}

// A ring that leaves its node takes the step at each of its ranks.
void add_steps(Seconds step, const MeasuredNetwork& network, const GridGroups& groups,
               std::int64_t gpus_per_node, NetworkKeys& keys) {
  const double steps = is_sound(network) ? members_in_node(groups, gpus_per_node) : 1.0;
  const std::string rings = "rings over all ranks take that long a rank beyond their time inside";
  if (!is_sound(network)) {
    keep(keys, "least_hop", format_quantity(step), rings + "; groups inside a node wait as well");
  }
  keep(keys, "least_network_hop", format_quantity(steps * step), rings);
}

// Rings over all nodes have the rate that all-reduces over all nodes had, of each GPU its part.
// Groups of neighbouring nodes keep the NICs' rate. So do rings in steps that are longer than their
// bytes would take; there the rate says how long the steps are.
void add_rate(const MeasuredNetwork& network, const GridGroups& groups, const ClusterSpec& nodes,
              NetworkKeys& keys) {
  const bool over_all = groups.tp <= nodes.gpus_per_node;
  if (!over_all || !(is_sound(network) || groups.reduces_whole)) {
    return;
  }
  const BytesPerSecond rate =
      min(nominal_rate(nodes.device.scale_out), network.all_reduce / real(nodes.gpus_per_node));
  keep(keys, "nic_rate", format_quantity(rate),
       "the run's all-reduce over all nodes, a GPU's part");
  keys.cluster["nics_per_gpu"] = 1;
  keys.cluster["nic_efficiency"] = 1;
}

void add_scale_up(const MeasuredNetwork& network, const ClusterSpec& nodes, NetworkKeys& keys) {
  const DeviceSpec& device = nodes.device;
  if (!device.collectives.in_switch) {
    return;
  }
  const double members = real(nodes.gpus_per_node);
  const BytesPerSecond bus = 2.0 * (members - 1.0) / members * device.collectives.in_switch->share *
                             real(device.scale_up.links) * device.scale_up.link_rate;
  const BytesPerSecond rate =
      std::min(1.0, network.all_reduce_inside / bus) * device.scale_up.link_rate;
  keep(keys, "link_rate", format_quantity(rate), "the run's all-reduce inside a node");
}

}  // namespace

std::optional<MeasuredNetwork> read_measured_network(MappingReader& fields) {
  for (const char* column : {"AllReduce (GB/s)", "AllGather (GB/s)", "ReduceScatter (GB/s)",
                             "AR Intra-node (GB/s)", "AG Intra-node (GB/s)"}) {
    if (!fields.has(column)) {
      return std::nullopt;
    }
  }
  const auto rate = [&fields](const char* column) {
    return BytesPerSecond(1e9 * fields.required_number(column, kGigabytes));
  };
  const BytesPerSecond gather = rate("AllGather (GB/s)");
  const BytesPerSecond scatter = rate("ReduceScatter (GB/s)");
  return MeasuredNetwork{rate("AllReduce (GB/s)"),
                         BytesPerSecond(2.0 / (1.0 / gather.value() + 1.0 / scatter.value())),
                         rate("AR Intra-node (GB/s)"), rate("AG Intra-node (GB/s)")};
}

std::string state_of(const MeasuredNetwork& network) {
  return is_sound(network)                               ? "sound"
         : network.all_reduce_inside >= kAnyFabricInside ? "slow inside nodes"
                                                         : "no fabric inside nodes";
}

NetworkKeys keys_of(const MeasuredNetwork& network, const GridGroups& groups,
                    const ClusterSpec& nodes) {
  NetworkKeys keys;
  if (nodes.gpus() > nodes.gpus_per_node) {
    add_steps(step_of_rank(network, nodes), network, groups, nodes.gpus_per_node, keys);
    add_rate(network, groups, nodes, keys);
  }
  add_scale_up(network, nodes, keys);
  return keys;
}

}  // namespace stepcast
