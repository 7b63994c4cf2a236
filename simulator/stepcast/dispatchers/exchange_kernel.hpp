// SPDX-License-Identifier: Apache-2.0
// A kernel that moves rows of tokens between GPUs.
//
// T tokens that a rank sends or reduces, R rows that it moves, b bytes a row, n compute units:
//   copy    = (T (token_time + b / token_rate) + R (row_time + b / row_rate)) / n + R row_interval
//   inside  = rows over the domain's links b / (link_share B_up)
//   outside = rows over the network b / (network_share B_nic)
//   t       = start_up + b / first_row_rate + max(copy, inside, outside)
// R and the rows on links are those of the most loaded rank. B_up is what collectives achieve on
// the scale-up links, B_nic the wire rate of a rank's NICs; where other domains take part,
// relay_share of the link rate is left to rows that are passed on.
//
// Assumes that the three overlap fully, that an op of one rank costs nothing, and that links carry
// both directions at once. The time of a unit for a row is little dependent on its bytes, so that
// fp8 takes over half the time of 16 bits until the link limits. Wrong by up to a fifth where copy
// and link take about the same time, and by as much below 256 tokens, where few channels are full.
#pragma once

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/dispatchers/expert_traffic.hpp"

namespace stepcast {

// What a kernel is given to do.
struct RowTransfer {
  double tokens = 0.0;  // of a rank
  double rows = 0.0;    // of the most loaded rank
  Bytes row;
  Bytes inside;            // over the domain's links, of the most loaded rank
  Bytes outside;           // over the network, likewise
  std::int64_t units = 0;  // 0: copy engines or as many as it takes, which never limit
};

RowTransfer transfer_of(const ExpertExchange& op, const ExchangeTraffic& traffic);

// What a rank gets of the fabric.
struct ExchangeLinks {
  BytesPerSecond inside;   // what collectives achieve on the domain's links
  BytesPerSecond outside;  // wire rate of its NICs
};

ExchangeLinks exchange_links(const ExpertExchange& op, const ClusterSpec& cluster);

struct TransferTime {
  Seconds start_up;
  Seconds copy;
  Seconds inside;
  Seconds outside;

  [[nodiscard]] Seconds transfer() const { return max(copy, max(inside, outside)); }
};

TransferTime transfer_time(const RowTransfer& transfer, const ExchangeKernel& kernel,
                           const ExchangeLinks& links, double relay_share);

// A price without further parts: start-up and the longest of the three.
OpCost kernel_cost(const TransferTime& time, std::int64_t units, Detail detail);

// Makes a part of it longer the price, as a term of its own.
void add_part(OpCost& cost, CostTerm part, Detail detail);

// The section of the op's dispatcher in the profile of the exchanges, and its kernel.
const DispatcherConstants& constants_of(const ExpertExchange& op, const FabricContext& context);
const ExchangeKernel& kernel_of(const ExpertExchange& op, const FabricContext& context);

// The price of an op that is one such kernel on `units` units.
OpCost kernel_price(const ExpertExchange& op, const ExchangeTraffic& traffic,
                    const FabricContext& context, std::int64_t units);

// The op's own units, else the dispatcher's, never more than the part has.
std::int64_t units_of(const ExpertExchange& op, std::int64_t usual, const DeviceSpec& device);

}  // namespace stepcast
