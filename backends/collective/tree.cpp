// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/collective/collective_time.hpp"
#include "stepcast/base/real.hpp"

namespace stepcast {
namespace {

struct ProtocolRate {
  const ProtocolConstants* latency;
  double share = 1.0;  // of the bus rate of Simple inside a domain
  double volume = 1.0;
};

ProtocolRate rate_of(Protocol protocol, const FabricView& view, BytesPerSecond bus) {
  const CollectiveConstants& c = view.constants;
  switch (protocol) {
    case Protocol::kLl:
      return {&c.ll, std::min(1.0, c.ll.rate / bus), 2.0};
    case Protocol::kLl128:
      return {&c.ll128, c.ll128.share, 128.0 / 120.0};
    default:
      return {&c.simple, 1.0, 1.0};
  }
}

}  // namespace

// An all-reduce goes up a tree and down again, in two trees at once so that every link carries both
// directions; a chain inside a domain, a binary tree between them. A broadcast goes down alone.
CollectiveTime tree_time(CollectiveOp op, Bytes bytes, Protocol protocol, const FabricView& view) {
  const LinkGroup& links = view.links;
  const CollectiveConstants& c = view.constants;
  const BytesPerSecond bus = c.simple.ring_share * links.wire_inside;
  const ProtocolRate by = rate_of(protocol, view, bus);
  const bool reduce = op == CollectiveOp::kAllReduce;
  const double ways = reduce ? 2.0 : 1.0;
  const double inside_hops = reduce ? real(links.members - 1) : doublings(links.members);
  const Seconds hops =
      ways * (inside_hops * by.latency->hop + doublings(links.domains) * by.latency->network_hop);
  const double share = reduce ? c.simple.tree_share : 2.0 * c.simple.tree_share;
  const Seconds inside =
      links.members > 1 ? bytes / (std::min(1.0, share) * by.share * bus) : Seconds{};
  // Reducing and returning cross the network on all rails of a node, a broadcast on one.
  const double rails = reduce ? real(links.members) : 1.0;
  const Seconds outside = links.domains > 1
                              ? by.volume * bytes / (std::min(1.0, share) * rails * links.outside)
                              : Seconds{};
  const Transfer transfer = slower(inside, outside);
  CollectiveTime time;
  time.duration = by.latency->base + links.network_base + hops + transfer.time;
  time.transfer = transfer.time;
  time.outside = transfer.outside;
  time.algorithm = CollectiveAlgorithm::kTree;
  time.protocol = protocol;
  return time;
}

}  // namespace stepcast
