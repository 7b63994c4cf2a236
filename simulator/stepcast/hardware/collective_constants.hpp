// SPDX-License-Identifier: Apache-2.0
// What a collective library reaches on a GPU, and by which figures it picks a protocol:
// hardware_profiles/collectives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/base/units.hpp"
#include "stepcast/config/config_node.hpp"
#include "stepcast/hardware/provenance.hpp"

namespace stepcast {

// NCCL's own estimate of a protocol: base + hops * hop + bytes / rate.
struct ProtocolTuning {
  Seconds base;
  Seconds hop;
  BytesPerSecond rate;  // of a bus, in nccl-tests' sense
};

// The estimates by which the library picks a protocol inside one domain. They are constants of its
// source, not of the machine: a faster machine does not change them.
struct TuningConstants {
  ProtocolTuning ll;
  std::optional<ProtocolTuning> ll128;  // if the library uses it on this part
  ProtocolTuning simple;
  std::optional<ProtocolTuning> in_switch;
};

// What a protocol takes. Hops are dependent steps inside a domain and between domains.
struct ProtocolConstants {
  Seconds base;
  Seconds hop;
  Seconds network_hop;
};

// In-switch reduction: every rank sends its tensor once and receives the sum once.
struct InSwitchConstants {
  std::int64_t least_ranks = 0;  // that the library uses it for
  Seconds base;
  double share = 1.0;  // of the wire rate, over the tensor
  Seconds ramp;        // lost on the way to full chunks
  Bytes ramp_bytes;    // of the tensor, from which on chunks are full
};

// Point-to-point messages: all-to-all and send/receive.
struct MessageConstants {
  Bytes ll_bytes;                // of a tensor, up to which messages go by LL
  Seconds base;                  // by Simple
  double share = 1.0;            // of the wire rate
  BytesPerSecond own_rate;       // at which a rank copies its own part
  Seconds ramp;                  // lost on the way to full chunks
  Seconds ramp_transfer;         // of a message, after which its chunks are full
  double network_share = 1.0;    // of what rings achieve on the NICs, with many peers
  Seconds issue;                 // of one message over the network
  Seconds connection_miss;       // more of a message whose connection the NIC does not hold
  std::int64_t connections = 0;  // that a NIC holds
  Seconds host_call;             // between calls that a host launches one by one, with one peer
  Seconds host_peer;             // more of it for each further peer
};

// How many times longer communication takes while computation runs on the other units: it shares
// HBM, the L2 and the clock, and its last workgroups wait for units that computation frees.
struct BesideComputation {
  double gather = 1.0;    // all-gather
  double reduce = 1.0;    // reduce-scatter and all-reduce
  double exchange = 1.0;  // all-to-all, send and receive, expert exchange
};

struct CollectiveConstants {
  std::string name;
  std::optional<TuningConstants> tuning;  // empty: the library picks the fastest
  ProtocolConstants ll;
  ProtocolConstants ll128;
  ProtocolConstants simple;
  BytesPerSecond ll_rate;    // of a rank over everything it sends, receives or keeps
  double ll128_share = 1.0;  // of the rate of Simple
  double ring_share = 1.0;   // of the wire rate, by Simple
  BytesPerSecond own_rate;   // at which a rank copies its own part
  double tree_share = 0.5;   // of a tensor's rate through a tree, of the ring's bus rate
  std::optional<InSwitchConstants> in_switch;
  // Bytes a rank from which on an all-reduce takes at least what either of its halves takes alone;
  // below, the library has quicker ways of its own for it.
  Bytes all_reduce_floor;
  MessageConstants message;
  Seconds host_call;  // between collectives that a host launches one by one
  BesideComputation beside;
};

// Reads a file's tree; its own sources are added to the shared `sources`, where each number comes
// from to `provenance`, and its problems to `diagnostics`.
CollectiveConstants read_collective_constants(const ConfigNode& root, SourceTable& sources,
                                              std::vector<Provenance>& provenance,
                                              Diagnostics& diagnostics);

}  // namespace stepcast
