// SPDX-License-Identifier: Apache-2.0
// All-to-all: single-shot, hierarchical and PXN; and send/receive.
//
// Single-shot sends n - g messages over the network, each of S / n: many small ones are bound by
// the rate at which a NIC starts messages, and more connections than it holds cost a miss each.
// Hierarchical and PXN first bring what goes to a domain to the member on the destination's rail,
// so that k - 1 messages of g S / n remain; PXN does so while earlier messages are on the network.
// The price is that (g - 1)/g of what leaves passes over the scale-up links too.
//
// The rank that receives most gets what it has above the mean when its own sends are through, so
// that its links carry one direction alone, at their wire rate. All-to-alls of 16 MiB and more with
// 1.5 to 3 times the mean, in graphs on four H200 (tests/validation/four_collectives.jsonl), come
// out between 12 % too fast and 10 % too slow; at the rate of both directions up to 35 % too slow.
#include <algorithm>

#include "backends/collective/collective_time.hpp"
#include "stepcast/base/real.hpp"

namespace stepcast {
namespace {

struct TrafficParts {
  Bytes inside;   // to members of the own domain, of the mean rank
  Bytes excess;   // from them, of the most loaded rank above the mean
  Bytes outside;  // to all others
  Bytes own;
  Bytes largest;  // for one peer
};

TrafficParts parts_of(Bytes bytes, double imbalance, const LinkGroup& links) {
  const double n = real(links.ranks);
  const double g = real(links.members);
  const Bytes inside = (g - 1.0) / n * bytes;
  return {inside, (imbalance - 1.0) * inside, imbalance * (n - g) / n * bytes, bytes / n,
          imbalance / n * bytes};
}

Seconds inside_time(Bytes both_ways, Bytes one_way, const FabricView& view) {
  const MessageConstants& c = view.constants.message;
  if (view.links.members <= 1) {
    return {};
  }
  const Seconds transfer =
      both_ways / (c.share * view.links.wire_inside) + one_way / view.links.wire_inside;
  return transfer + std::min(1.0, transfer / c.ramp_transfer) * c.ramp;
}

// Of a rank that sends as much to every place of the other nodes, of which one is on its own rail.
BytesPerSecond mixed_rate(const LinkGroup& links) {
  const double g = real(links.members);
  return g / (1.0 / links.outside + (g - 1.0) / links.across_rails);
}

// The NICs' time for `messages` of `bytes` in all.
Seconds network_time(Bytes bytes, double messages, BytesPerSecond rate, const FabricView& view) {
  const MessageConstants& c = view.constants.message;
  if (view.links.domains <= 1) {
    return {};
  }
  const double missed = messages > 0.0 ? std::max(0.0, 1.0 - real(c.connections) / messages) : 0.0;
  return max(bytes / (c.network_share * rate), messages * (c.issue + missed * c.connection_miss));
}

Seconds latency(Seconds base, const ProtocolConstants& protocol, const FabricView& view) {
  return base + view.links.network_base +
         (view.links.domains > 1 ? protocol.network_hop : Seconds{});
}

Seconds latency(const FabricView& view) {
  return latency(view.constants.message.base, view.constants.simple, view);
}

// `peers` messages at once, each through a channel of its own, `outside` of them over the network.
CollectiveTime by_ll(Bytes for_a_peer, double peers, double outside, const FabricView& view) {
  constexpr double kVolume = 2.0;  // a flag of 4 bytes with each 4 bytes of data
  const CollectiveConstants& c = view.constants;
  const Seconds inside =
      std::max(0.0, peers - 1.0) * c.message.ll_peer + for_a_peer / c.message.ll_rate;
  const Transfer transfer = slower(
      inside, network_time(kVolume * outside * for_a_peer, outside, mixed_rate(view.links), view));
  return {latency(c.ll.base + c.ll.hop, c.ll, view) + transfer.time, transfer.time,
          transfer.outside, CollectiveAlgorithm::kDirect, Protocol::kLl};
}

CollectiveTime quicker(const CollectiveTime& a, const CollectiveTime& b) {
  return b.duration < a.duration ? b : a;
}

CollectiveTime single_shot(const TrafficParts& parts, const FabricView& view) {
  const double outside = real(view.links.ranks - view.links.members);
  const Seconds inside =
      inside_time(parts.inside, parts.excess, view) + parts.own / view.constants.message.own_rate;
  const Transfer transfer =
      slower(inside, network_time(parts.outside, outside, mixed_rate(view.links), view));
  const CollectiveTime simple{latency(view) + transfer.time, transfer.time, transfer.outside,
                              CollectiveAlgorithm::kDirect, Protocol::kSimple};
  return parts.largest > view.constants.message.ll_bytes
             ? simple
             : quicker(simple, by_ll(parts.largest, real(view.links.ranks - 1), outside, view));
}

CollectiveTime by_rails(CollectiveAlgorithm algorithm, const TrafficParts& parts,
                        const FabricView& view) {
  const double g = real(view.links.members);
  const double nodes = real(view.links.domains - 1);
  const Bytes regrouped = (g - 1.0) / g * parts.outside;
  const Seconds inside = inside_time(parts.inside + regrouped, parts.excess, view) +
                         parts.own / view.constants.message.own_rate;
  const Seconds outside = network_time(parts.outside, nodes, view.links.outside, view);
  const Seconds start =
      latency(view) + (view.links.members > 1 ? view.constants.simple.hop : Seconds{});
  if (algorithm == CollectiveAlgorithm::kHierarchical) {
    return {start + inside + outside, inside + outside, inside < outside, algorithm,
            Protocol::kSimple};
  }
  const Seconds fill = nodes > 0.0 ? inside_time(regrouped / nodes, {}, view) : Seconds{};
  const Transfer transfer = slower(inside, outside);
  return {start + fill + transfer.time, transfer.time, transfer.outside, algorithm,
          Protocol::kSimple};
}

}  // namespace

CollectiveTime all_to_all_time(CollectiveAlgorithm algorithm, Bytes bytes, double imbalance,
                               const FabricView& view) {
  const TrafficParts parts = parts_of(bytes, imbalance, view.links);
  if (algorithm == CollectiveAlgorithm::kDirect || view.links.domains == 1) {
    return single_shot(parts, view);
  }
  if (algorithm != CollectiveAlgorithm::kAuto) {
    return by_rails(algorithm, parts, view);
  }
  return quicker(single_shot(parts, view), by_rails(CollectiveAlgorithm::kPxn, parts, view));
}

CollectiveTime send_time(Bytes bytes, const FabricView& view) {
  const CollectiveConstants& c = view.constants;
  const bool inside = view.links.members > 1;
  const Seconds transfer =
      bytes / (inside ? c.simple.ring_share * view.links.wire_inside : view.links.outside);
  const Seconds hop = inside ? Seconds{} : c.simple.network_hop + view.links.network_base;
  const CollectiveTime simple{c.message.base + hop + transfer, transfer, !inside,
                              CollectiveAlgorithm::kDirect, Protocol::kSimple};
  return bytes > c.message.ll_bytes ? simple
                                    : quicker(simple, by_ll(bytes, 1.0, inside ? 0.0 : 1.0, view));
}

}  // namespace stepcast
