// SPDX-License-Identifier: Apache-2.0
// Rows and bytes that an exchange of tokens moves, for one rank.
//
// T tokens a rank, W ranks, P of them in a domain of scale-up links, N domains, K experts a token,
// D(x) distinct parts of x that a token reaches (routing.hpp). Rows that a rank receives, its own
// included, and the share of them that crosses links:
//   ag, rs       W T                  (P-1)/W inside, (W-P)/W outside the domain
//   a2a          T K                  likewise
//   rank_dedup   T D(W)               likewise
//   node_dedup   T D(W) inside, (P-1)/P of them on links; T D(N) outside, (N-1)/N of them
// The most loaded rank or node receives `inside_peak` or `outside_peak` times the mean.
//
// Bytes of a row of H values: 2 H in 16 bits; dispatched in fp8 H + 4 H / 128, a scale for 128
// values; in fp4 H/2 + H/16; combined always in 16 bits, unless the op is fp32. A dispatcher may
// add a header to each row that it dispatches. Three figures, each of a rank on average:
//   tensor    the op's input as TraceLens counts it: T H for dispatch, the received rows times H
//             for combine, at the dtype's bytes
//   logical   as DeepEP's tables count it: every distinct destination, own rank and own node
//             included; towards nodes where several domains take part and rows are sent once a node
//   wire      what arrives over links, inside and outside the domain
// Assumes destinations spread over domains as over ranks.
#pragma once

#include "stepcast/base/units.hpp"
#include "stepcast/hardware/cluster_spec.hpp"
#include "stepcast/model/op.hpp"
#include "stepcast/model/routing.hpp"

namespace stepcast {

struct ExchangeTraffic {
  std::int64_t ranks = 1;
  std::int64_t members = 1;  // of the group in one domain
  std::int64_t domains = 1;
  Bytes row;
  double rows = 0.0;          // received, own included
  double copies = 0.0;        // (token, expert) pairs of a rank's experts
  double rows_inside = 0.0;   // over links of the domain
  double rows_outside = 0.0;  // over the network
  double node_rows = 0.0;     // one a token and node, own included
  double inside_peak = 1.0;   // most loaded rank over the mean
  double outside_peak = 1.0;  // most loaded node or rank over the mean
  Bytes tensor;
  Bytes logical;
  Bytes wire;
};

// What the dispatcher does where the primitive is auto; where it chooses by time, its usual one.
ExchangePrimitive resolved_primitive(const ExpertExchange& op);

// Of one row on the fabric.
Bytes exchange_row(const ExpertExchange& op);

ExchangeTraffic expert_traffic(const ExpertExchange& op, std::int64_t domain_size);

// The bytes of a communication between the ranks of experts by three conventions: the tensor that
// it is given, what would cross a fabric between all pairs of ranks, and what crosses it.
struct CommunicationBytes {
  Bytes tensor;
  Bytes logical;
  Bytes wire;
};
CommunicationBytes expert_communication_bytes(const Op& op, std::int64_t domain_size);

// An exchange with the primitive that its dispatcher chooses on this cluster; any other operator as
// it is.
Op as_run(Op op, const ClusterSpec& cluster);

// The bytes by which the effective rate of an interconnect is stated, none of a kernel: the tensor
// that a collective or an exchange is given, however often and how far its rows travel (TraceLens,
// pull request 520: Effective Interconnect TB/s).
Bytes interconnect_bytes(const Op& op, std::int64_t domain_size);

}  // namespace stepcast
