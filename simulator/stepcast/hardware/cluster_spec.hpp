// SPDX-License-Identifier: Apache-2.0
// A cluster: one kind of GPU, hosts, nodes, and the network between them.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/enum_names.hpp"
#include "stepcast/base/units.hpp"
#include "stepcast/hardware/device_spec.hpp"
#include "stepcast/hardware/provenance.hpp"

namespace stepcast {

// The host that is taken where neither a cluster nor its GPU names one.
inline constexpr std::string_view kUsualHost = "xeon_pytorch_2_11";
// The host of a GPU whose cluster names none.
std::string host_name_of(const DeviceSpec& device);

// What a host takes to keep its device busy: a CPU with a version of a framework. How often it does
// each of these things in a step is the software's (plan/software_spec.hpp). All zero: a host that
// never holds its device up.
struct HostSpec {
  std::string name;
  std::string title;
  std::string framework;

  Seconds eager_call;
  Seconds eager_kernel;
  Seconds dispatch_mode;
  Seconds compiled_region;
  Seconds compiled_kernel;
  Seconds graph_replay;
  Seconds collective;
  Seconds message;  // zero: as a collective
  Seconds functional_forward;
  Seconds functional_backward;
  Seconds device_read;
  Seconds unit_forward;
  Seconds unit_backward;
  Seconds unit_entry;
  double jitter = 0.0;
  Seconds unit_update;
  Seconds update_call;
  // Where it is not known, no optimizer can be on the host.
  std::optional<BytesPerSecond> device_link;
  std::optional<BytesPerSecond> core_memory;
  std::optional<BytesPerSecond> socket_memory;
  std::int64_t socket_devices = 1;
  std::int64_t update_cores = 1;
  std::optional<BytesPerSecond> norm_memory;

  double pace = 1.0;  // times as long as its profile says, for what software states of its calls
  std::vector<Provenance> provenance;
  SourceTable sources;
};

// Reads a host's profile: all numbers, or the `base` beside it that has them with how many times as
// long this one takes for all that is a time (`slower`); a base has no base itself. Throws
// ConfigError with all of its problems.
HostSpec load_host(const std::filesystem::path& file, const SourceTable& shared_sources);

// In a rail-optimised network the NICs of one place in their nodes share a leaf switch.
enum class NetworkTopology { kRailOptimisedFatTree, kFatTree };
template <>
inline constexpr std::array<std::string_view, 2> kNamesOf<NetworkTopology> = {
    "rail_optimised_fat_tree", "fat_tree"};

// What a cluster's collectives between nodes were measured to reach, as NCCL's tests print it: bus
// bandwidth, of the whole tensor (n - 1) / n over the time, twice that for all-reduce. A rate that
// is not given follows from NICs and protocols.
struct BusRates {
  std::optional<BytesPerSecond> all_reduce;
  std::optional<BytesPerSecond> all_gather;
  std::optional<BytesPerSecond> reduce_scatter;
  std::optional<BytesPerSecond> all_to_all;

  [[nodiscard]] bool any() const {
    return all_reduce || all_gather || reduce_scatter || all_to_all;
  }
};

// The shape of the network between nodes.
struct NetworkSpec {
  NetworkTopology topology = NetworkTopology::kRailOptimisedFatTree;
  std::int64_t nodes_per_pod = 0;   // 0: one pod holds every node
  double oversubscription = 1.0;    // of the links between pods: 2 carries half
  std::int64_t nodes_per_leaf = 0;  // 0: one leaf holds every node
  double beyond_leaf = 1.0;         // of its rate, that a ring reaches once it leaves a leaf
  BusRates bus_rates;
};

// Whether GPUs that are slower than others of their kind have been taken out, as those who run
// fleets do, or a job has whichever GPUs it was given.
enum class Chips { kScreened, kUnscreened };
template <>
inline constexpr std::array<std::string_view, 2> kNamesOf<Chips> = {"screened", "unscreened"};

struct ClusterSpec {
  std::string name;
  DeviceSpec device;  // its scale_out holds the NICs of this cluster
  std::int64_t nodes = 1;
  std::int64_t gpus_per_node = 8;
  NetworkSpec network;
  Chips chips = Chips::kScreened;
  HostSpec host;  // of every GPU
  std::vector<Provenance> provenance;
  SourceTable sources;

  [[nodiscard]] std::int64_t gpus() const { return nodes * gpus_per_node; }
  // Between a GPU and its host's memory, in each direction: the GPU's own, or else the host's.
  [[nodiscard]] std::optional<BytesPerSecond> host_link() const {
    return device.host_link ? device.host_link : host.device_link;
  }
  // GPUs that one scale-up fabric joins, in this cluster.
  [[nodiscard]] std::int64_t domain_size() const;
};

// A cluster's profile as written: which GPU, and what differs from its usual node.
struct ClusterProfile {
  std::string name;
  std::string title;
  std::string gpu;
  std::string host;  // empty: not known
  std::optional<std::int64_t> gpus_per_node;
  std::optional<double> nics_per_gpu;
  std::optional<BytesPerSecond> nic_rate;
  std::optional<double> efficiency;
  std::optional<Seconds> base_latency;
  std::optional<Seconds> hop_latency;
  NetworkSpec network;
  std::vector<Provenance> provenance;
  SourceTable sources;
};

// Reads a cluster's profile. Throws ConfigError with all of its problems.
ClusterProfile load_cluster_profile(const std::filesystem::path& file,
                                    const SourceTable& shared_sources);

// Changes what `cluster` of an experiment says of the network: topology, nodes_per_pod,
// oversubscription, nodes_per_leaf, beyond_leaf, bus_rates.
void read_network_changes(MappingReader& cluster, NetworkSpec& network);

// `nodes` usual nodes of a GPU.
ClusterSpec cluster_of(DeviceSpec device, std::int64_t nodes);
// `nodes` nodes of a profiled cluster.
ClusterSpec cluster_of(const ClusterProfile& profile, DeviceSpec device, std::int64_t nodes);

}  // namespace stepcast
