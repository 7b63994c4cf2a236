// SPDX-License-Identifier: Apache-2.0
// Memory that an expert dispatcher holds beside the activations, exact to the byte. Each
// dispatcher's file in dispatchers/ says what it holds.
//
// Not modelled: the allocator's rounding, and what the network library keeps for its queues.
#pragma once

#include <string_view>
#include <vector>

#include "stepcast/layer/exchange_shape.hpp"

namespace stepcast {

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
