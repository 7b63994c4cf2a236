// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "backends/collective/collective_time.hpp"
#include "stepcast/base/real.hpp"

namespace stepcast {
namespace {

// LL carries a flag of 4 bytes with each 4 bytes of data, LL128 8 with 120.
constexpr double kLlVolume = 2.0;
constexpr double kLl128Volume = 128.0 / 120.0;

// Of a rank's links, with the share that Simple reaches.
BytesPerSecond ring_rate(const FabricView& view) {
  const LinkGroup& links = view.links;
  const BytesPerSecond closed = view.constants.simple.ring_share * links.wire_inside;
  if (links.domains == 1 || links.members == 1) {
    return closed;
  }
  const double g = real(links.members);
  return std::min(1.0, view.constants.simple.ring_share * g / (g - 1.0)) * links.wire_inside;
}

Transfer links_time(Bytes sent, double inside_volume, double outside_volume,
                    const FabricView& view) {
  const LinkGroup& links = view.links;
  const Seconds inside = links.members > 1 ? inside_volume * sent / ring_rate(view) : Seconds{};
  const Seconds outside = links.domains > 1
                              ? outside_volume * sent / (real(links.members) * links.ring_outside)
                              : Seconds{};
  return slower(inside, outside);
}

// A rank's own block goes through the channels that send: in step at first, so that the link waits
// for it; over many chunks channels drift apart, and the link works while some of them copy.
Seconds own_time(Bytes own, const SimpleConstants& c) {
  const double in_step = std::max(c.own_exposed, 1.0 / (1.0 + own / c.own_apart));
  return in_step * (own / c.own_rate);
}

// LL through the units of a rank; between domains it reaches no more than what the library states.
Seconds ll_units(const RingSteps& ring, Bytes bytes, const FabricView& view) {
  const CollectiveConstants& c = view.constants;
  const Seconds units = (ring.sent + ring.own) * bytes / c.ll.rate;
  return view.links.domains > 1 && c.tuning
             ? max(units, ring.sent * bytes / c.tuning->network.ll_rate)
             : units;
}

Seconds hop_time(const RingSteps& ring, const ProtocolConstants& protocol) {
  return ring.inside * protocol.hop + ring.outside * protocol.network_hop;
}

// Simple hands a rank's part on in slices. Between nodes the next step waits for the slice that
// arrives, and so for all of a part that is no more than one slice on each channel.
// A step inside a node is what it is in a ring of hundreds of ranks; `hop`, of rings of a few
// ranks, holds what fills their channels, too.
Seconds long_ring(const RingSteps& ring, Seconds wire, Bytes own, const SimpleConstants& c) {
  const Seconds hops = ring.inside * c.long_hop + ring.outside * c.network_hop;
  const double of_part = own > c.whole_part ? c.whole_part / own : 1.0;
  return max(hops + of_part * wire, wire);
}

}  // namespace

// Between a sum (exponent 1) and a maximum: of curves from 1 MiB to 512 MiB on A100 to GB300, 1.5
// leaves the least error on all parts together.
Seconds partly_hidden(Seconds hops, Seconds transfer) {
  const auto raised = [](double x) { return x * std::sqrt(x); };  // to 1.5
  const double sum = raised(hops.value()) + raised(transfer.value());
  return Seconds(std::cbrt(sum * sum));
}

Transfer slower(Seconds inside, Seconds outside) {
  return {max(inside, outside), inside < outside};
}

double doublings(std::int64_t ranks) {
  double steps = 0.0;
  for (std::int64_t reached = 1; reached < ranks; reached *= 2) {
    steps += 1.0;
  }
  return steps;
}

RingSteps ring_steps(CollectiveOp op, const LinkGroup& links) {
  const double n = real(links.ranks);
  const bool twice = op == CollectiveOp::kAllReduce;
  const double steps = (twice ? 2.0 : 1.0) * (n - 1.0);
  const double k = real(links.domains);
  RingSteps ring;
  // What starts in the middle of a domain ends in it, and leaves each; a root's ends before its
  // own.
  const double crossed = op == CollectiveOp::kBroadcast ? k - 1.0 : (twice ? 2.0 : 1.0) * k;
  ring.outside = links.domains == 1 ? 0.0 : std::min(steps, crossed);
  ring.inside = steps - ring.outside;
  ring.sent = op == CollectiveOp::kBroadcast ? 1.0 : steps / n;
  ring.own = op == CollectiveOp::kBroadcast ? 0.0 : 1.0 / n;
  return ring;
}

CollectiveTime ring_time(CollectiveOp op, Bytes bytes, Protocol protocol, const FabricView& view) {
  const CollectiveConstants& c = view.constants;
  const RingSteps ring = ring_steps(op, view.links);
  const Bytes sent = ring.sent * bytes;
  const Bytes own = ring.own * bytes;
  CollectiveTime time;
  time.algorithm = CollectiveAlgorithm::kRing;
  time.protocol = protocol;
  if (protocol == Protocol::kLl) {
    const Transfer wire = links_time(sent, kLlVolume, kLlVolume, view);
    const Seconds units = ll_units(ring, bytes, view);
    time.outside = wire.outside && wire.time > units;
    time.transfer = max(units, wire.time);
    time.duration = c.ll.base + hop_time(ring, c.ll) + time.transfer;
  } else if (protocol == Protocol::kLl128) {
    const Transfer wire = links_time(sent, 1.0 / c.ll128.share, kLl128Volume, view);
    time.outside = wire.outside;
    time.transfer = wire.time + own_time(own, c.simple);
    time.duration = c.ll128.base + hop_time(ring, c.ll128) + time.transfer;
  } else {
    const Transfer wire = links_time(sent, 1.0, 1.0, view);
    time.outside = wire.outside;
    time.transfer = wire.time + own_time(own, c.simple);
    if (view.links.domains > 1) {
      const Seconds copied = time.transfer - wire.time;
      time.duration = c.simple.base + long_ring(ring, wire.time, own, c.simple) + copied;
    } else {
      time.duration = c.simple.base + partly_hidden(ring.inside * c.simple.hop, time.transfer);
    }
  }
  time.duration += view.links.network_base;
  return time;
}

}  // namespace stepcast
