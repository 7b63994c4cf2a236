// SPDX-License-Identifier: Apache-2.0
// What a process group sees of the fabric: how many members share a domain, and which rate one of
// them gets inside it and out of it.
#pragma once

#include "stepcast/hardware/cluster_spec.hpp"
#include "stepcast/hardware/process_group.hpp"

namespace stepcast {

struct LinkGroup {
  std::int64_t ranks = 1;
  std::int64_t members = 1;  // in one domain
  std::int64_t domains = 1;
  bool mesh = false;            // links of its own to every member, not a switch
  BytesPerSecond wire_inside;   // of one rank in one direction, towards its domain's members
  BytesPerSecond inside;        // the same, achieved
  BytesPerSecond outside;       // achieved, of one rank in one direction, towards other domains
  BytesPerSecond ring_outside;  // the same of a ring, whose flows may meet beyond a leaf
  BytesPerSecond across_rails;  // the same towards a GPU of another place in its node
  Seconds base_latency;         // of a collective, with that of the network if it leaves a domain
  Seconds network_base;         // that of the network alone
  Seconds inside_hop;
  Seconds outside_hop;
};

// Inside a switched domain a rank has all of its links; in a full mesh of D GPUs a group of g has g
// - 1 of its D - 1 links. Outside, a rank has its GPU's share of the node's NICs: the node's other
// GPUs belong to groups of the same kind, which communicate at the same time. Between pods the
// oversubscription divides the rate. In a rail-optimised network the GPUs of one place in their
// nodes share a leaf of a pod, so that only traffic to other places climbs to the spine and meets
// the oversubscription there.
LinkGroup link_group(ProcessGroup group, const ClusterSpec& cluster);

// Whether some members of a group lie in another pod, or under another leaf switch, than the first.
bool leaves_pod(ProcessGroup group, const ClusterSpec& cluster);
bool leaves_leaf(ProcessGroup group, const ClusterSpec& cluster);

}  // namespace stepcast
