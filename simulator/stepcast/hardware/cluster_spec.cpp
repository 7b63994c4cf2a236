// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/cluster_spec.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "stepcast/config/enum_fields.hpp"
#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/hardware/constant.hpp"
#include "stepcast/hardware/host_tables.hpp"

namespace stepcast {
namespace {

constexpr Range<double> kOversubscription{1.0, 1000.0};
constexpr Range<std::int64_t> kGpusPerNode{1, 1024};

constexpr UnitRange kBusRate{{0.001, 100'000.0}, "GB/s"};

void read_bus_rates(MappingReader& cluster, BusRates& rates) {
  std::optional<MappingReader> mapping = cluster.optional_mapping("bus_rates");
  if (!mapping) {
    return;
  }
  const auto read = [&](std::string_view key, std::optional<BytesPerSecond>& rate) {
    if (const ConfigNode* given = mapping->take(key)) {
      rate = mapping->quantity<BytesPerSecond>(key, *given, kBusRate);
    }
  };
  read("all_reduce", rates.all_reduce);
  read("all_gather", rates.all_gather);
  read("reduce_scatter", rates.reduce_scatter);
  read("all_to_all", rates.all_to_all);
  mapping->finish();
}

NetworkSpec read_network(SourcedReader reader) {
  NetworkSpec network;
  network.topology =
      reader.reader().required_choice<NetworkTopology>("topology", enum_names<NetworkTopology>());
  network.nodes_per_pod = reader.optional_count("nodes_per_pod", kPositiveCount).value_or(0);
  network.oversubscription =
      reader.optional_number("oversubscription", kOversubscription).value_or(1.0);
  network.nodes_per_leaf = reader.optional_count("nodes_per_leaf", kPositiveCount).value_or(0);
  network.beyond_leaf = reader.optional_number("beyond_leaf", limits::kShare).value_or(1.0);
  reader.finish();
  return network;
}

}  // namespace

std::int64_t ClusterSpec::domain_size() const {
  // A switched domain may span nodes (NVL72); a mesh ends with its node.
  const std::int64_t largest = std::max(device.scale_up.domain_size, gpus_per_node);
  return std::min(largest, gpus());
}

ClusterProfile load_cluster_profile(const std::filesystem::path& file,
                                    const SourceTable& shared_sources) {
  const ConfigNode root = load_config(file);
  Diagnostics diagnostics;
  MappingReader top(root, "", diagnostics);
  ClusterProfile profile;
  profile.sources = shared_sources;
  profile.sources.merge(read_sources(top, "sources"));
  profile.name = required_name(top);
  profile.title = top.required_text("title");
  profile.gpu = top.required_text("gpu");
  profile.host = top.optional_name("host");
  SourcedReader reader(std::move(top), profile.sources, profile.provenance);
  profile.gpus_per_node = reader.optional_count("gpus_per_node", kGpusPerNode);
  profile.nics_per_gpu = reader.optional_number("nics_per_gpu", limits::kNicsPerGpu);
  profile.nic_rate = reader.optional_quantity<BytesPerSecond>("nic_rate", limits::kNicRate);
  profile.efficiency = reader.optional_number("efficiency", limits::kShare);
  profile.base_latency = reader.optional_quantity<Seconds>("base_latency", limits::kLatency);
  profile.hop_latency = reader.optional_quantity<Seconds>("hop_latency", limits::kLatency);
  profile.network = read_network(reader.mapping("network"));
  reader.finish();
  diagnostics.throw_if_any();
  return profile;
}

void read_network_changes(MappingReader& cluster, NetworkSpec& network) {
  if (const ConfigNode* topology = cluster.take("topology")) {
    network.topology =
        cluster.choice<NetworkTopology>("topology", *topology, enum_names<NetworkTopology>())
            .value_or(network.topology);
  }
  network.nodes_per_pod = cluster.optional_count("nodes_per_pod", network.nodes_per_pod);
  network.oversubscription =
      cluster.optional_number("oversubscription", network.oversubscription, kOversubscription);
  network.nodes_per_leaf = cluster.optional_count("nodes_per_leaf", network.nodes_per_leaf);
  network.beyond_leaf = cluster.optional_number("beyond_leaf", network.beyond_leaf, limits::kShare);
  read_bus_rates(cluster, network.bus_rates);
}

ClusterSpec cluster_of(DeviceSpec device, std::int64_t nodes) {
  ClusterSpec cluster;
  cluster.name = device.name;
  cluster.nodes = nodes;
  cluster.gpus_per_node = device.gpus_per_node;
  cluster.device = std::move(device);
  return cluster;
}

ClusterSpec cluster_of(const ClusterProfile& profile, DeviceSpec device, std::int64_t nodes) {
  ClusterSpec cluster = cluster_of(std::move(device), nodes);
  cluster.name = profile.name;
  cluster.network = profile.network;
  cluster.provenance = profile.provenance;
  cluster.sources = profile.sources;
  cluster.gpus_per_node = profile.gpus_per_node.value_or(cluster.gpus_per_node);
  ScaleOutSpec& nics = cluster.device.scale_out;
  nics.nics_per_gpu = profile.nics_per_gpu.value_or(nics.nics_per_gpu);
  nics.nic_rate = profile.nic_rate.value_or(nics.nic_rate);
  nics.efficiency = profile.efficiency.value_or(nics.efficiency);
  nics.base_latency = profile.base_latency.value_or(nics.base_latency);
  nics.hop_latency = profile.hop_latency.value_or(nics.hop_latency);
  for (Provenance own : profile.provenance) {
    own.key = "scale_out." + own.key;
    restate(cluster.device.provenance, own);
  }
  return cluster;
}

std::string host_name_of(const DeviceSpec& device) {
  return device.host.empty() ? std::string(kUsualHost) : device.host;
}

namespace {

constexpr Range<double> kSlower{0.1, 10.0};

// A host that takes `slower` times as long for all that `base` has a time of.
void take_base(const HostSpec& base, SourcedReader& reader, HostSpec& host) {
  const double slower = reader.number("slower", kSlower);
  for (const Constant<HostSpec>& constant : host_tables::kConstants) {
    std::visit(
        [&](auto member) {
          host.*member = base.*member;
          if constexpr (std::is_same_v<decltype(member), Seconds HostSpec::*>) {
            host.*member = slower * base.*member;
          }
        },
        constant.member);
  }
  host.provenance.insert(host.provenance.end(), base.provenance.begin(), base.provenance.end());
  host.sources.insert(base.sources.begin(), base.sources.end());
}

// Whether a host may be of a base: the base itself may not, so that no chain of them comes back to
// where it began.
enum class BaseAllowed { kNo, kYes };

HostSpec read_host(const std::filesystem::path& file, const SourceTable& shared_sources,
                   BaseAllowed allowed) {
  const ConfigNode root = load_config(file);
  Diagnostics diagnostics;
  MappingReader top(root, "", diagnostics);
  HostSpec host;
  host.sources = shared_sources;
  host.sources.merge(read_sources(top, "sources"));
  host.name = required_name(top);
  host.title = top.required_text("title");
  host.framework = top.required_text("framework");
  const std::string base = top.optional_name("base");
  SourcedReader reader(std::move(top), host.sources, host.provenance);
  if (base.empty()) {
    read_constants<HostSpec>(reader, host_tables::kConstants, host);
  } else {
    const Location where = reader.reader().location("base");
    if (allowed == BaseAllowed::kNo) {
      throw ConfigError(where, "is that of a host which is itself a base: give it all numbers");
    }
    const std::filesystem::path other = file.parent_path() / (base + ".yaml");
    if (base == host.name || !std::filesystem::exists(other)) {
      throw ConfigError(where, "names no other host: '" + base + "'");
    }
    take_base(read_host(other, shared_sources, BaseAllowed::kNo), reader, host);
  }
  reader.finish();
  diagnostics.throw_if_any();
  return host;
}

}  // namespace

HostSpec load_host(const std::filesystem::path& file, const SourceTable& shared_sources) {
  return read_host(file, shared_sources, BaseAllowed::kYes);
}

}  // namespace stepcast
