// SPDX-License-Identifier: Apache-2.0
// The network of a run of nanotron's grid, from the bus bandwidths (GB/s) that the run measured
// over all of its ranks and inside a node, as the keys of a cluster on which collectives take as
// long.
//
//   h = (S (n - 1) / n / B - S (g - 1) / g / b) / n
//
// is what a ring over all n ranks takes at each rank beyond its time inside a node: S the tensor
// measured with, B the mean rate of all-gather and reduce-scatter, b the rate of all-gather inside
// a node of g ranks.
#pragma once

#include <optional>
#include <string>

#include "importers/foreign_row.hpp"
#include "stepcast/hardware/cluster_spec.hpp"

namespace stepcast {

struct MeasuredNetwork {
  BytesPerSecond all_reduce;
  BytesPerSecond rings;  // all-gather and reduce-scatter, by time
  BytesPerSecond all_reduce_inside;
  BytesPerSecond all_gather_inside;
};

// Empty where the row lacks one of them.
std::optional<MeasuredNetwork> read_measured_network(MappingReader& fields);

// "sound", "slow inside nodes" or "no fabric inside nodes".
std::string state_of(const MeasuredNetwork& network);

// What of a plan decides which groups leave their nodes.
struct GridGroups {
  std::int64_t tp = 1;
  bool reduces_whole = false;  // all-reduce of gradients: ZeRO 0
};

// What the cluster's keys say about it, on top of the nodes of the part.
struct NetworkKeys {
  Record cluster = Record::object();
  Record assumed = Record::array();
};
NetworkKeys keys_of(const MeasuredNetwork& network, const GridGroups& groups,
                    const ClusterSpec& nodes);

}  // namespace stepcast
