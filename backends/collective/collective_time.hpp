// SPDX-License-Identifier: Apache-2.0
// The time of one algorithm with one protocol, as a function of what the group sees of the fabric.
//
// n ranks, g of them in each of k domains, S bytes (the full tensor), B rate of a rank inside, O
// outside.
//
//   ring     base + hidden(hops, transfer); all-reduce has 2 (n - 1) steps, all-gather and
//            reduce-scatter n - 1, of which 2 k or k leave a domain, and all where g = 1: what
//            starts in the middle of a domain ends in it. A broadcast leaves k - 1
//     Simple transfer = V / min(B, g O) + e own / C, with V = steps / n S over the links and own =
//            S / n that a rank copies for itself, of which e = max(least, 1 / (1 + own / A)) keeps
//            the link waiting; inside a domain hidden(h, t) = (h^1.5 + t^1.5)^(2/3): hops are
//            paid in full while chunks are small and hide behind the transfer of large ones.
//            Between domains a step waits for the slice before it: hidden(h, t) = max(h + t
//            min(1, W / own), t) of the links' time t, with W a slice for each channel
//     LL128  the same at the share of the rate that 120 data bytes of 128 leave, hops unhidden
//     LL     every byte that a rank sends, receives or keeps goes through its units at the rate of
//            LL: (V + own) / R, over the network twice the volume and no more than the library
//            states; hops unhidden
//   a ring through k > 1 domains leaves each of them, and so loads the links of g - 1 of g ranks: B
//            is g / (g - 1) of that of a ring which closes inside
//   others   model/collective_algorithm.cpp
//
// Assumes an otherwise idle fabric, ranks that start together, and both directions of a link at
// full rate. Wrong where ranks of other groups share the NICs at other times than all at once, and
// for the slow tail of adaptive routing.
#pragma once

#include "stepcast/hardware/collective_constants.hpp"
#include "stepcast/hardware/link_group.hpp"
#include "stepcast/model/op.hpp"

namespace stepcast {

struct CollectiveTime {
  Seconds duration;
  Seconds transfer;      // the part of it that bytes take at full rate
  bool outside = false;  // whether NICs set the transfer
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kAuto;
  Protocol protocol = Protocol::kAuto;
};

struct FabricView {
  const LinkGroup& links;
  const CollectiveConstants& constants;
};

// A hop's latency that is partly hidden behind a transfer.
Seconds partly_hidden(Seconds hops, Seconds transfer);

// The larger of both, and which.
struct Transfer {
  Seconds time;
  bool outside = false;
};
Transfer slower(Seconds inside, Seconds outside);

// Dependent steps: powers of two, rounded up.
double doublings(std::int64_t ranks);

// What every rank of a ring does.
struct RingSteps {
  double inside = 0.0;
  double outside = 0.0;
  double sent = 0.0;  // of the tensor, by each rank
  double own = 0.0;   // of the tensor, copied by each rank for itself
};
RingSteps ring_steps(CollectiveOp op, const LinkGroup& links);

// All-reduce, all-gather, reduce-scatter and broadcast.
CollectiveTime ring_time(CollectiveOp op, Bytes bytes, Protocol protocol, const FabricView& view);
// All-reduce and broadcast.
CollectiveTime tree_time(CollectiveOp op, Bytes bytes, Protocol protocol, const FabricView& view);
// All-reduce, all-gather, reduce-scatter.
CollectiveTime recursive_doubling_time(CollectiveOp op, Bytes bytes, const FabricView& view);
CollectiveTime direct_time(CollectiveOp op, Bytes bytes, const FabricView& view);
CollectiveTime hierarchical_time(CollectiveOp op, Bytes bytes, const FabricView& view);
// All-reduce on a switch with constants for it.
CollectiveTime in_switch_time(Bytes bytes, const FabricView& view);

// `imbalance` is the most loaded rank's share of the bytes over the mean.
CollectiveTime all_to_all_time(CollectiveAlgorithm algorithm, Bytes bytes, double imbalance,
                               const FabricView& view);
CollectiveTime send_time(Bytes bytes, const FabricView& view);

// The time with the algorithm and protocol that the library picks, or the forced ones.
CollectiveTime library_time(const Collective& op, const FabricView& view);

}  // namespace stepcast
