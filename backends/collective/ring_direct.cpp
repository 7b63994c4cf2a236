// SPDX-License-Identifier: Apache-2.0
// Collectives as rings or as direct exchanges, whichever is faster, with latency and bandwidth.
//
// n ranks, g of them in each of k domains, S bytes (the full tensor), B rate of a rank inside, O
// outside.
//   all-gather, reduce-scatter   each rank moves S (n-1)/n; a domain takes in S (n-g)/n over g
//   ranks:
//                                max(S (n-1)/n / B, S (n-g)/n / (g O))
//   all-reduce                   twice that: 2 (n-1)/n
//   all-to-all                   each rank sends S/n to every peer: max(S (g-1)/n / B, S (n-g)/n /
//   O)
//   send/receive                 S over one link of a mesh, all links of a switch, or the NICs
//   broadcast                    S over every link of the ring
//   expert exchange              by dispatcher: stepcast/dispatchers/dispatcher_table.hpp
// Latency of a ring is base + (n - k) inside hops + (k - 1) outside hops, all-reduce twice the
// hops; of a direct exchange base + one hop of each kind + message.issue for every peer outside.
// Assumes that both directions of a link run at full rate and that nothing else is on the fabric.
// Wrong around 1 to 32 MiB, where the libraries change their protocol (too fast by up to 2).

#include "backends/builtin_backends.hpp"
#include "stepcast/base/real.hpp"
#include "stepcast/cost/contention.hpp"
#include "stepcast/dispatchers/dispatcher_table.hpp"
#include "stepcast/hardware/link_group.hpp"

namespace stepcast {
namespace {

struct DirectTime {
  Seconds latency;
  Seconds inside;
  Seconds outside;
};

Seconds ring_hops(const LinkGroup& links) {
  return real(links.ranks - links.domains) * links.inside_hop +
         real(links.domains - 1) * links.outside_hop;
}

Seconds direct_hops(const LinkGroup& links, Seconds issue) {
  const bool inside = links.members > 1;
  const bool outside = links.domains > 1;
  return (inside ? links.inside_hop : Seconds{}) + (outside ? links.outside_hop : Seconds{}) +
         real(links.ranks - links.members) * issue;
}

// All-gather and reduce-scatter.
DirectTime gather_time(const LinkGroup& links, Seconds issue, Bytes bytes) {
  const double n = real(links.ranks);
  const double g = real(links.members);
  DirectTime time;
  time.latency = min(ring_hops(links), direct_hops(links, issue));
  time.inside = g > 1 ? (n - 1) / n * bytes / links.inside : Seconds{};
  time.outside = links.domains > 1 ? (n - g) / n * bytes / (g * links.outside) : Seconds{};
  return time;
}

DirectTime all_to_all_time(const LinkGroup& links, Seconds issue, Bytes bytes) {
  const double n = real(links.ranks);
  const double g = real(links.members);
  DirectTime time;
  time.latency = direct_hops(links, issue);
  time.inside = g > 1 ? (g - 1) / n * bytes / links.inside : Seconds{};
  time.outside = links.domains > 1 ? (n - g) / n * bytes / links.outside : Seconds{};
  return time;
}

DirectTime send_time(const LinkGroup& links, Bytes bytes) {
  DirectTime time;
  const bool inside = links.members > 1;
  time.latency = inside ? links.inside_hop : links.outside_hop;
  (inside ? time.inside : time.outside) = bytes / (inside ? links.inside : links.outside);
  return time;
}

// Pipelined along the ring: every link carries the tensor once.
DirectTime broadcast_time(const LinkGroup& links, Bytes bytes) {
  DirectTime time;
  time.latency = ring_hops(links);
  time.inside = links.members > 1 ? bytes / links.inside : Seconds{};
  time.outside = links.domains > 1 ? bytes / (real(links.members) * links.outside) : Seconds{};
  return time;
}

// `issue`: to start one message to a peer outside the domain.
DirectTime time_of(const Collective& op, const LinkGroup& links, Seconds issue) {
  switch (op.op) {
    case CollectiveOp::kAllGather:
    case CollectiveOp::kReduceScatter:
      return gather_time(links, issue, op.bytes);
    case CollectiveOp::kAllReduce: {
      DirectTime half = gather_time(links, issue, op.bytes);
      return {2.0 * half.latency, 2.0 * half.inside, 2.0 * half.outside};
    }
    case CollectiveOp::kAllToAll:
      return all_to_all_time(links, issue, op.bytes);
    case CollectiveOp::kSendRecv:
      return send_time(links, op.bytes);
    case CollectiveOp::kBroadcast:
      return broadcast_time(links, op.bytes);
  }
  return {};
}

class RingDirectCollective final : public CollectiveModel {
 public:
  [[nodiscard]] OpCost collective(const Collective& op,
                                  const FabricContext& context) const override {
    if (op.group.size <= 1) {
      return {};
    }
    const LinkGroup links = link_group(op.group, context.cluster);
    const Seconds issue = context.cluster.device.collectives.message.issue;
    const DirectTime time = time_of(op, links, issue);
    const Seconds latency = links.base_latency + time.latency;
    const Seconds transfer = max(time.inside, time.outside);
    OpCost cost;
    cost.hbm = hbm_traffic(op);
    cost.duration = latency + transfer;
    cost.bound = transfer < latency ? Bound::kLatency : Bound::kBandwidth;
    if (context.detail == Detail::kTerms) {
      const bool outside = time.inside < time.outside;
      cost.terms = {{"latency", latency}, {outside ? "scale_out" : "scale_up", transfer}};
    }
    return cost;
  }

  [[nodiscard]] OpCost exchange(const ExpertExchange& op,
                                const FabricContext& context) const override {
    return exchange_cost(op, context, *this);
  }
};

}  // namespace

std::shared_ptr<const CollectiveModel> make_ring_direct_collective() {
  return std::make_shared<RingDirectCollective>();
}

}  // namespace stepcast
