// SPDX-License-Identifier: Apache-2.0
// Algorithms that are no ring and no tree: recursive doubling, direct, hierarchical, in-switch.
#include <algorithm>

#include "backends/collective/collective_time.hpp"
#include "stepcast/base/real.hpp"

namespace stepcast {
namespace {

bool is_all_reduce(CollectiveOp op) { return op == CollectiveOp::kAllReduce; }

BytesPerSecond inside_rate(const FabricView& view) {
  return view.constants.simple.ring_share * view.links.wire_inside;
}

CollectiveTime timed(CollectiveAlgorithm algorithm, Seconds latency, Transfer transfer,
                     const FabricView& view) {
  CollectiveTime time;
  time.duration = view.constants.simple.base + view.links.network_base + latency + transfer.time;
  time.transfer = transfer.time;
  time.outside = transfer.outside;
  time.algorithm = algorithm;
  time.protocol = Protocol::kSimple;
  return time;
}

// The ranks of one rail, one in each domain.
LinkGroup rail_of(const LinkGroup& links) {
  LinkGroup rail = links;
  rail.ranks = links.domains;
  rail.members = 1;
  return rail;
}

LinkGroup domain_of(const LinkGroup& links) {
  LinkGroup domain = links;
  domain.ranks = links.members;
  domain.domains = 1;
  domain.network_base = Seconds{};
  return domain;
}

}  // namespace

// All-gather: between domains while blocks are small, then inside. The steps follow each other, so
// both transfers add.
CollectiveTime recursive_doubling_time(CollectiveOp op, Bytes bytes, const FabricView& view) {
  const LinkGroup& links = view.links;
  const ProtocolConstants& simple = view.constants.simple;
  const double ways = is_all_reduce(op) ? 2.0 : 1.0;
  const double g = real(links.members);
  const double k = real(links.domains);
  const Seconds hops = ways * (doublings(links.members) * simple.hop +
                               doublings(links.domains) * simple.network_hop);
  const Seconds inside =
      links.members > 1 ? ways * (g - 1.0) / g * bytes / inside_rate(view) : Seconds{};
  const Seconds outside =
      links.domains > 1 ? ways * (k - 1.0) / (k * g) * bytes / links.outside : Seconds{};
  return timed(CollectiveAlgorithm::kRecursiveDoubling, hops, {inside + outside, inside < outside},
               view);
}

CollectiveTime direct_time(CollectiveOp op, Bytes bytes, const FabricView& view) {
  const LinkGroup& links = view.links;
  const CollectiveConstants& c = view.constants;
  const double ways = is_all_reduce(op) ? 2.0 : 1.0;
  const double n = real(links.ranks);
  const double g = real(links.members);
  Seconds latency = links.members > 1 ? c.simple.hop : Seconds{};
  Seconds outside;
  if (links.domains > 1) {
    latency += c.simple.network_hop + (n - g) * c.message.issue;
    outside = ways * (n - g) / n * bytes / (c.message.network_share * links.outside);
  }
  const Seconds inside =
      links.members > 1 ? ways * (g - 1.0) / n * bytes / inside_rate(view) : Seconds{};
  return timed(CollectiveAlgorithm::kDirect, ways * latency, slower(inside, outside), view);
}

// One phase after the other, each as a ring by Simple.
CollectiveTime hierarchical_time(CollectiveOp op, Bytes bytes, const FabricView& view) {
  const LinkGroup domain = domain_of(view.links);
  const LinkGroup rail = rail_of(view.links);
  const double g = real(view.links.members);
  const double phases = is_all_reduce(op) ? 2.0 : 1.0;
  CollectiveTime time;
  time.algorithm = CollectiveAlgorithm::kHierarchical;
  time.protocol = Protocol::kSimple;
  if (domain.ranks > 1) {
    const CollectiveTime inside =
        ring_time(CollectiveOp::kAllGather, bytes, Protocol::kSimple, {domain, view.constants});
    time.duration += phases * inside.duration;
    time.transfer += phases * inside.transfer;
  }
  if (rail.ranks > 1) {
    const CollectiveTime outside =
        ring_time(op, bytes / g, Protocol::kSimple, {rail, view.constants});
    time.outside = outside.transfer > time.transfer;
    time.duration += outside.duration;
    time.transfer += outside.transfer;
  }
  return time;
}

CollectiveTime in_switch_time(Bytes bytes, const FabricView& view) {
  const LinkGroup& links = view.links;
  const InSwitchConstants& c = *view.constants.in_switch;
  const double k = real(links.domains);
  const Seconds inside = bytes / (c.share * links.wire_inside);
  const Seconds outside = links.domains > 1
                              ? 2.0 * (k - 1.0) / k * bytes / (real(links.members) * links.outside)
                              : Seconds{};
  const Transfer transfer = slower(inside, outside);
  CollectiveTime time;
  time.duration = c.base + std::min(1.0, bytes / c.ramp_bytes) * c.ramp + links.network_base +
                  2.0 * doublings(links.domains) * view.constants.simple.network_hop +
                  transfer.time;
  time.transfer = transfer.time;
  time.outside = transfer.outside;
  time.algorithm = CollectiveAlgorithm::kInSwitch;
  time.protocol = Protocol::kSimple;
  return time;
}

}  // namespace stepcast
