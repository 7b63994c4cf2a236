// SPDX-License-Identifier: Apache-2.0
// Which algorithm and protocol the library takes.
//
// NCCL picks the least of its own estimates base + hops + bytes / rate, with constants of its
// source. Over its switching sizes the real time may jump: it jumps up where the estimate flatters
// the next protocol, as measured curves inside a domain show. Where the next one would be faster
// than the one before at the size of the switch, that size's time holds, so that more bytes never
// take less time. Between domains the estimates choose between LL128 and Simple; what Simple takes
// there is so far above its estimate that LL, where it is faster, is taken: no curve shows a jump
// from it. For a library without such constants the fastest is taken, and so is the faster of ring
// and tree between domains.
#include <algorithm>
#include <limits>
#include <vector>

#include "backends/collective/collective_time.hpp"
#include "stepcast/base/real.hpp"

namespace stepcast {
namespace {

struct Candidate {
  CollectiveAlgorithm algorithm;
  Protocol protocol;
  Seconds base;           // the library's estimate: base + bytes * per_byte
  double per_byte = 0.0;  // s
};

Candidate estimate(Protocol protocol, const ProtocolTuning& tuning, const RingSteps& ring) {
  return {CollectiveAlgorithm::kRing, protocol, tuning.base + ring.inside * tuning.hop,
          ring.sent / tuning.rate.value()};
}

// The estimates of LL128 and Simple of a ring that leaves its domain: inside it a step takes at
// least what the network asks of the host, and NICs may set the rate of the bus.
class NetworkEstimates {
 public:
  NetworkEstimates(CollectiveOp op, const FabricView& view)
      : tuning_(*view.constants.tuning),
        ring_(ring_steps(op, view.links)),
        share_(std::min(1.0, real(view.links.members) * view.links.outside / tuning_.simple.rate)),
        reduces_all_(op == CollectiveOp::kAllReduce) {}

  [[nodiscard]] std::vector<Candidate> all() const {
    const NetworkTuning& network = tuning_.network;
    std::vector<Candidate> candidates;
    if (tuning_.ll128) {
      ProtocolTuning ll128 = *tuning_.ll128;
      ll128.rate = share_ * ll128.rate;
      candidates.push_back(candidate(Protocol::kLl128, ll128, network.ll128_hop, network.overhead));
    }
    ProtocolTuning simple = tuning_.simple;
    simple.rate = share_ * simple.rate;
    candidates.push_back(
        candidate(Protocol::kSimple, simple, network.simple_hop, 3.0 * network.overhead));
    return candidates;
  }

 private:
  [[nodiscard]] Candidate candidate(Protocol protocol, const ProtocolTuning& tuning, Seconds hop,
                                    Seconds least) const {
    const double corrected =
        reduces_all_ && protocol == Protocol::kSimple ? tuning_.network.plateau : 1.0;
    const Seconds hops = ring_.inside * max(tuning.hop, least) + ring_.outside * hop;
    return {CollectiveAlgorithm::kRing, protocol, corrected * (tuning.base + hops),
            ring_.sent / tuning.rate.value()};
  }

  const TuningConstants& tuning_;
  RingSteps ring_;
  double share_;  // of the rate inside a domain
  bool reduces_all_;
};

bool uses_switch(const FabricView& view) {
  return view.constants.in_switch && !view.links.mesh &&
         view.links.members >= view.constants.in_switch->least_ranks;
}

std::vector<Candidate> estimates(CollectiveOp op, const FabricView& view, bool ring_only) {
  if (view.links.domains > 1) {
    return NetworkEstimates(op, view).all();
  }
  const TuningConstants& tuning = *view.constants.tuning;
  const RingSteps ring = ring_steps(op, view.links);
  std::vector<Candidate> candidates = {estimate(Protocol::kLl, tuning.ll, ring)};
  if (tuning.ll128) {
    candidates.push_back(estimate(Protocol::kLl128, *tuning.ll128, ring));
  }
  candidates.push_back(estimate(Protocol::kSimple, tuning.simple, ring));
  const bool in_switch = op == CollectiveOp::kAllReduce && tuning.in_switch && uses_switch(view);
  if (in_switch && !ring_only) {
    candidates.push_back({CollectiveAlgorithm::kInSwitch, Protocol::kSimple, tuning.in_switch->base,
                          1.0 / tuning.in_switch->rate.value()});
  }
  return candidates;
}

CollectiveTime time_by(CollectiveOp op, CollectiveAlgorithm algorithm, Protocol protocol,
                       Bytes bytes, const FabricView& view) {
  switch (algorithm) {
    case CollectiveAlgorithm::kTree:
      return tree_time(op, bytes, protocol, view);
    case CollectiveAlgorithm::kRecursiveDoubling:
      return recursive_doubling_time(op, bytes, view);
    case CollectiveAlgorithm::kDirect:
      return direct_time(op, bytes, view);
    case CollectiveAlgorithm::kHierarchical:
      return hierarchical_time(op, bytes, view);
    case CollectiveAlgorithm::kInSwitch:
      return in_switch_time(bytes, view);
    default:
      return ring_time(op, bytes, protocol, view);
  }
}

// The size at which `next` becomes the lesser estimate.
double crossing(const Candidate& now, const Candidate& next) {
  if (next.per_byte >= now.per_byte) {
    return std::numeric_limits<double>::infinity();
  }
  return std::max(0.0, (next.base - now.base).value() / (now.per_byte - next.per_byte));
}

// Along the lesser estimates from no bytes to `bytes`.
CollectiveTime by_estimate(CollectiveOp op, Bytes bytes, const FabricView& view, bool ring_only) {
  const std::vector<Candidate> candidates = estimates(op, view, ring_only);
  const auto* now = &*std::ranges::min_element(candidates, {}, &Candidate::base);
  Seconds reached;
  while (true) {
    const Candidate* next = nullptr;
    double size = bytes.value();
    for (const Candidate& other : candidates) {
      if (const double at = crossing(*now, other); at < size) {
        size = at;
        next = &other;
      }
    }
    CollectiveTime time = time_by(op, now->algorithm, now->protocol, Bytes(size), view);
    reached = max(reached, time.duration);
    if (next == nullptr) {
      time.duration = reached;
      return time;
    }
    now = next;
  }
}

CollectiveTime fastest(std::initializer_list<CollectiveTime> times) {
  return *std::ranges::min_element(times, {}, &CollectiveTime::duration);
}

// Of the protocols that the library uses on this part.
template <typename TimeBy>
CollectiveTime fastest_protocol(const CollectiveConstants& constants,
                                const TimeBy& time_by_protocol) {
  const CollectiveTime time =
      fastest({time_by_protocol(Protocol::kLl), time_by_protocol(Protocol::kSimple)});
  const bool has_ll128 = !constants.tuning || constants.tuning->ll128;
  return has_ll128 ? fastest({time, time_by_protocol(Protocol::kLl128)}) : time;
}

CollectiveTime ring_choice(CollectiveOp op, Bytes bytes, const FabricView& view) {
  // A broadcast is estimated in another way, which has not been checked.
  const bool estimated = view.links.domains == 1 || op != CollectiveOp::kBroadcast;
  if (view.constants.tuning && estimated) {
    const CollectiveTime time = by_estimate(op, bytes, view, true);
    return view.links.domains == 1 ? time
                                   : fastest({ring_time(op, bytes, Protocol::kLl, view), time});
  }
  return fastest_protocol(view.constants,
                          [&](Protocol p) { return ring_time(op, bytes, p, view); });
}

CollectiveTime tree_choice(CollectiveOp op, Bytes bytes, const FabricView& view) {
  return fastest_protocol(view.constants,
                          [&](Protocol p) { return tree_time(op, bytes, p, view); });
}

CollectiveTime free_choice(CollectiveOp op, Bytes bytes, const FabricView& view) {
  if (view.links.domains == 1 && view.constants.tuning) {
    return by_estimate(op, bytes, view, false);
  }
  CollectiveTime time = ring_choice(op, bytes, view);
  if (op == CollectiveOp::kAllReduce || op == CollectiveOp::kBroadcast) {
    time = fastest({time, tree_choice(op, bytes, view)});
  }
  // Between domains measured all-reduces are rings at the rate of the NICs, on H100 and B200.
  if (op == CollectiveOp::kAllReduce && view.links.domains == 1 && uses_switch(view)) {
    time = fastest({time, in_switch_time(bytes, view)});
  }
  return time;
}

CollectiveTime with_protocol(CollectiveAlgorithm algorithm, const Collective& op,
                             const FabricView& view) {
  const bool any = op.protocol == Protocol::kAuto;
  if (algorithm == CollectiveAlgorithm::kTree) {
    return any ? tree_choice(op.op, op.bytes, view) : tree_time(op.op, op.bytes, op.protocol, view);
  }
  if (algorithm == CollectiveAlgorithm::kRing) {
    return any ? ring_choice(op.op, op.bytes, view) : ring_time(op.op, op.bytes, op.protocol, view);
  }
  if (algorithm == CollectiveAlgorithm::kAuto) {
    return any ? free_choice(op.op, op.bytes, view) : ring_time(op.op, op.bytes, op.protocol, view);
  }
  return time_by(op.op, algorithm, Protocol::kSimple, op.bytes, view);
}

// From all_reduce_floor a rank on, and inside one family at any size, an all-reduce takes at least
// what its halves take alone.
CollectiveTime not_below_its_halves(CollectiveTime time, const Collective& op,
                                    const FabricView& view) {
  const bool large = op.bytes >= real(view.links.ranks) * view.constants.all_reduce_floor;
  if (op.op != CollectiveOp::kAllReduce || (op.algorithm == CollectiveAlgorithm::kAuto && !large)) {
    return time;
  }
  Collective half = op;
  half.op = CollectiveOp::kAllGather;
  if (op.algorithm == CollectiveAlgorithm::kTree ||
      op.algorithm == CollectiveAlgorithm::kInSwitch) {
    return time;  // families of their own
  }
  time.duration = max(time.duration, with_protocol(op.algorithm, half, view).duration);
  return time;
}

}  // namespace

CollectiveTime library_time(const Collective& op, const FabricView& view) {
  if (op.op == CollectiveOp::kAllToAll) {
    return all_to_all_time(op.algorithm, op.bytes, op.imbalance, view);
  }
  if (op.op == CollectiveOp::kSendRecv) {
    return send_time(op.bytes, view);
  }
  return not_below_its_halves(with_protocol(op.algorithm, op, view), op, view);
}

}  // namespace stepcast
