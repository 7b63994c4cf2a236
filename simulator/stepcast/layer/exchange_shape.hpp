// SPDX-License-Identifier: Apache-2.0
// Rows that the expert exchange of one layer moves and leaves on a rank.
//
// Symbols: T tokens of a rank, k experts a token, E experts, W ranks, E_l = E / W.
//
//   rows of the experts   T k imbalance, those of the most loaded rank, which sets the pace;
//                         padded to a multiple for each expert where asked for
//   rows received         T D, with one row for each (token, rank)
//   worst case            W T min(k, E_l): every token to this rank, or what the dispatcher's model
//                         says
//   capacity              f of T k, or what the dispatcher's model says
//
// With expert tensor parallelism, dispatchers whose expert tensor ranks take part see etp times the
// ranks, experts and choices, as Megatron's flex dispatcher has it.
#pragma once

#include <string_view>
#include <vector>

#include "stepcast/layer/layer_expansion.hpp"
#include "stepcast/model/routing.hpp"

namespace stepcast {

struct ExchangeShape {
  std::int64_t tokens = 0;
  std::int64_t hidden = 0;
  std::int64_t topk = 1;
  std::int64_t experts = 1;
  std::int64_t ranks = 1;
  std::int64_t ranks_in_domain = 1;  // those that a scale-up domain holds
  std::int64_t copies = 0;           // of other ranks' experts, on the rank that holds most
  double imbalance = 1.0;
  double destinations = 1.0;  // distinct ranks of a token

  [[nodiscard]] std::int64_t local_experts() const { return experts / ranks; }
  [[nodiscard]] std::int64_t domains() const {
    return (ranks + ranks_in_domain - 1) / ranks_in_domain;
  }
};

// What carries the exchange of this plan: with one rank nothing does, and the alltoall dispatcher's
// local permutation remains, unless the dispatcher's own kernels serve one rank too.
Dispatcher dispatcher_in_use(const ParallelPlan& plan);

// Where the experts and their copies lie, and how the load is shared by them.
PlacedExperts placed_experts(const ExpansionContext& context);

// The exchange of a layer with experts; the model has some.
ExchangeShape exchange_shape(const ExpansionContext& context);

// What arrives at a rank at most, by model: W T min(k, E_l).
std::int64_t rows_of_all_choices(const ExchangeShape& shape);
// What a capacity of `factor` lets in, by model: f T k, rounded up.
std::int64_t rows_of_usual_share(const ExchangeShape& shape, double factor);
// Rows of an expert from one rank, ceil(T k / E f).
std::int64_t expert_capacity(const ExchangeShape& shape, double factor);
// Rows that a rank puts in, one for each (token, expert): T k unless a capacity pads and drops.
std::int64_t sent_rows(const ExchangeSpec& spec, const ExchangeShape& shape);
// Rows that the experts of the most loaded rank compute.
std::int64_t expert_rows(const ExpansionContext& context);
// Rows of the tensors between dispatch and combine.
std::int64_t buffer_rows(const ExpansionContext& context);
// Rows that arrive where each rank gets a token once.
std::int64_t received_rows(const ExchangeShape& shape);

// Memory that an expert dispatcher holds beside the activations, exact to the byte. Each
// dispatcher's file in dispatchers/ says what it holds.
//
// Not modelled: the allocator's rounding, and what the network library keeps for its queues.
struct ExchangeBuffer {
  std::string_view name;
  Bytes bytes;
};

// The exchange of one layer, on which depends what a dispatcher holds and what it keeps.
struct LayerExchange {
  const ExchangeSpec& spec;
  ExchangeShape shape;
  std::int64_t rows = 0;   // of the tensors between dispatch and combine
  std::int64_t units = 0;  // compute units of the dispatcher's kernels
};

LayerExchange layer_exchange(const ExpansionContext& context);

// The buffers of the plan's dispatcher; there are none without expert parallelism.
std::vector<ExchangeBuffer> exchange_buffers(const ExpansionContext& context);
Bytes total(const std::vector<ExchangeBuffer>& buffers);

// For the files of dispatchers/: a buffer of `count` bytes, and of one that 16-bit rows of a layer
// pass through in both directions.
ExchangeBuffer buffer_of(std::string_view name, std::int64_t count);
ExchangeBuffer both_ways(std::string_view name, std::int64_t rows, const ExchangeShape& shape);
// Bytes of a token's row of 16-bit values.
std::int64_t row_bytes(const ExchangeShape& shape);

}  // namespace stepcast
