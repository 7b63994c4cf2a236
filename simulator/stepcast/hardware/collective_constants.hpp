// SPDX-License-Identifier: Apache-2.0
// What a collective library reaches on a GPU, and by which figures it picks a protocol:
// hardware_profiles/collectives. collective_tables.hpp says what each number is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "stepcast/base/units.hpp"

namespace stepcast {

// NCCL's own estimate of a protocol: base + hops * hop + bytes / rate.
struct ProtocolTuning {
  Seconds base;
  Seconds hop;
  BytesPerSecond rate;
};

// What the library states of rings that leave a domain besides.
struct NetworkTuning {
  Seconds ll128_hop;
  Seconds simple_hop;
  Seconds overhead;        // the least of a step inside a domain, three times that by Simple
  BytesPerSecond ll_rate;  // the most by LL, of a bus
  double plateau = 1.0;    // of the latency of all-reduces by Simple
};

// The estimates by which the library picks a protocol. They are constants of its source, not of the
// machine: a faster machine does not change them.
struct TuningConstants {
  ProtocolTuning ll;
  std::optional<ProtocolTuning> ll128;  // if the library uses it on this part
  ProtocolTuning simple;
  std::optional<ProtocolTuning> in_switch;
  NetworkTuning network;
};

// What a protocol takes. Hops are dependent steps inside a domain and between domains.
struct ProtocolConstants {
  Seconds base;
  Seconds hop;
  Seconds network_hop;
};

struct LlConstants : ProtocolConstants {
  BytesPerSecond rate;
};

struct Ll128Constants : ProtocolConstants {
  double share = 1.0;
};

struct SimpleConstants : ProtocolConstants {
  Seconds long_hop;  // inside a domain, of a ring that leaves it
  double ring_share = 1.0;
  double tree_share = 0.5;
  BytesPerSecond own_rate;
  Bytes own_apart;
  double own_exposed = 1.0;
  Bytes whole_part;
};

// In-switch reduction: every rank sends its tensor once and receives the sum once.
struct InSwitchConstants {
  std::int64_t least_ranks = 0;
  Seconds base;
  double share = 1.0;
  Seconds ramp;
  Bytes ramp_bytes;
};

// Point-to-point messages: all-to-all and send/receive.
struct MessageConstants {
  Bytes ll_bytes;          // for a peer
  BytesPerSecond ll_rate;  // of a peer, each of which has a channel of its own
  Seconds ll_peer;         // of each peer after the first
  Seconds base;
  double share = 1.0;
  BytesPerSecond own_rate;
  Seconds ramp;
  Seconds ramp_transfer;
  double network_share = 1.0;
  Seconds issue;
  Seconds connection_miss;
  std::int64_t connections = 0;
};

// What communication loses while computation runs on the other units (cost/contention.hpp).
struct BesideComputation {
  double ring = 1.0;          // times longer beside any kernel: gathers and reductions
  double exchange = 1.0;      // the same of messages and exchanges of tokens
  double own_at_clock = 0.0;  // time at the clock of the units, over the share that a rank keeps
  double hbm_share = 1.0;     // of HBM that it keeps beside kernels that ask for all of it
  double hbm_queue = 0.0;  // of its longest wait for HBM, beside a kernel that asks for half of it
};

struct CollectiveConstants {
  std::string name;
  std::optional<TuningConstants> tuning;  // empty: the library picks the fastest
  LlConstants ll;
  Ll128Constants ll128;
  SimpleConstants simple;
  std::optional<InSwitchConstants> in_switch;
  Bytes all_reduce_floor;
  Seconds captured;  // of a collective in a captured graph, beyond one that is queued in a stream
  MessageConstants message;
  BesideComputation beside;
};

}  // namespace stepcast
