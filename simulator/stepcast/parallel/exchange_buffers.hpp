// SPDX-License-Identifier: Apache-2.0
// Memory that an expert dispatcher holds beside the activations, exact to the byte.
//
// Symbols: T tokens of a rank, H hidden, k experts a token, E experts, W ranks, E_l = E / W, b = 2
// bytes a value, R = W T min(k, E_l) rows at the worst, M rows of the receive buffer.
//
//   alltoall           2 rows H b: what is sent and what arrives
//   allgather          2 W T H b: gathered tokens, and sums to be scattered
//   deepep             DeepEP's own size hints (csrc/config.hpp) for 16-bit rows, with channels =
//                      SMs / 2: over NVLink, channels * peers * chunk * bytes of a token; over the
//                      network twice channels * nodes * chunk * bytes of a token; and the rows that
//                      arrive. deepep_v2 is taken alike.
//   deepep_low_latency 2 (send + E T message + signals), the message being the larger of dispatch
//                      and combine (LowLatencyLayout there)
//   hybridep           W T H b of tokens, W T experts-in-domain 4 of probabilities and T (domains -
//                      1) H b for the network
//   sonic              one workspace for all layers: x T H b, y M H b, received rows (W T k H b
//   with
//                      a2a, else W T H b), W T k and M indices of 4 bytes, partial sums W T H b
//                      unless combine is a2a; with redispatch dO T H b and gathered x W T H b
//   minimal_async_ep   two receive buffers M H b and counts W E 8, shared by all layers
//
// Not modelled: the allocator's rounding, and what the network library keeps for its queues.
#pragma once

#include <string_view>
#include <vector>

#include "stepcast/parallel/exchange_shape.hpp"

namespace stepcast {

struct ExchangeBuffer {
  std::string_view name;
  Bytes bytes;
};

// Of one dispatcher, given its rows; for tests of published figures and for other reports.
std::vector<ExchangeBuffer> minimal_async_buffers(const ExchangeShape& shape, std::int64_t rows);
std::vector<ExchangeBuffer> sonic_workspace(const ExchangeSpec& spec, const ExchangeShape& shape,
                                            std::int64_t rows);
std::vector<ExchangeBuffer> hybridep_buffers(const ExchangeShape& shape);
std::vector<ExchangeBuffer> deepep_buffers(const ExchangeSpec& spec, const ExchangeShape& shape);
std::vector<ExchangeBuffer> low_latency_buffers(const ExchangeShape& shape);

// All of the plan's dispatcher; none without expert parallelism.
std::vector<ExchangeBuffer> exchange_buffers(const ExpansionContext& context);
Bytes total(const std::vector<ExchangeBuffer>& buffers);

// SonicMoE's choice without its profiler: gathered where W <= 2 or W <= 0.8 k, else a row for each
// (token, rank); beyond one scale-up domain a row for each (token, node).
ExchangePrimitive sonic_dispatch(const ExchangeSpec& spec, const ExchangeShape& shape);
ExchangePrimitive sonic_combine(const ExchangeSpec& spec, const ExchangeShape& shape);
// What SonicMoE keeps of the experts' input for backward: W T H b gathered or deduplicated, M H b
// with a2a, T H b if it is dispatched again.
std::int64_t sonic_saved_rows(const ExchangeSpec& spec, const ExchangeShape& shape,
                              std::int64_t rows);

}  // namespace stepcast
