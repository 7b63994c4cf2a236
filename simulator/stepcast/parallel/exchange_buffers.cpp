// SPDX-License-Identifier: Apache-2.0
#include "stepcast/parallel/exchange_buffers.hpp"

#include <algorithm>

namespace stepcast {
namespace {

using Primitive = ExchangePrimitive;

constexpr std::int64_t kElement = 2;  // bytes of a 16-bit value
constexpr std::int64_t kIndex = 4;
constexpr std::int64_t kCounter = 8;

// DeepEP's constants.
constexpr std::int64_t kPeers = 8;  // GPUs that its kernels see over NVLink
constexpr std::int64_t kMetadata = 8;
constexpr std::int64_t kTokenExtras = 128 * 8 + 128 * 4 + 128 * 4;  // indices, weights, scales
constexpr std::int64_t kAlignment = 128;
constexpr std::int64_t kReserve = 1 << 20;
constexpr std::int64_t kHeader = 16;

Bytes bytes(std::int64_t count) { return Bytes(static_cast<double>(count)); }

std::int64_t aligned(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

std::int64_t row(const ExchangeShape& shape) { return shape.hidden * kElement; }

bool beyond_a_domain(const ExchangeShape& shape) { return shape.domains() > 1; }

Primitive sonic_choice(const ExchangeShape& shape, Primitive gathered) {
  if (beyond_a_domain(shape)) {
    return Primitive::kNodeDedup;
  }
  const bool few = shape.ranks <= 2 || 10 * shape.ranks <= 8 * shape.topk;
  return few ? gathered : Primitive::kRankDedup;
}

// Rows that arrive and leave as they are exchanged, for both directions.
std::vector<ExchangeBuffer> both_ways(std::string_view name, std::int64_t rows,
                                      const ExchangeShape& shape) {
  return {{name, bytes(2 * rows * row(shape))}};
}

}  // namespace

std::vector<ExchangeBuffer> minimal_async_buffers(const ExchangeShape& shape, std::int64_t rows) {
  return {{"receive", bytes(2 * rows * row(shape))},
          {"counts", bytes(shape.ranks * shape.experts * kCounter)}};
}

Primitive sonic_dispatch(const ExchangeSpec& spec, const ExchangeShape& shape) {
  return spec.dispatch_primitive == Primitive::kAuto ? sonic_choice(shape, Primitive::kAllGather)
                                                     : spec.dispatch_primitive;
}

Primitive sonic_combine(const ExchangeSpec& spec, const ExchangeShape& shape) {
  return spec.combine_primitive == Primitive::kAuto ? sonic_choice(shape, Primitive::kReduceScatter)
                                                    : spec.combine_primitive;
}

std::int64_t sonic_saved_rows(const ExchangeSpec& spec, const ExchangeShape& shape,
                              std::int64_t rows) {
  if (spec.redispatch_in_backward) {
    return shape.tokens;
  }
  const bool row_an_expert = sonic_dispatch(spec, shape) == Primitive::kAllToAll;
  return row_an_expert ? rows : shape.ranks * shape.tokens;
}

std::vector<ExchangeBuffer> sonic_workspace(const ExchangeSpec& spec, const ExchangeShape& shape,
                                            std::int64_t rows) {
  const std::int64_t own = shape.tokens * row(shape);
  const std::int64_t everyone = shape.ranks * own;
  const bool row_an_expert = sonic_dispatch(spec, shape) == Primitive::kAllToAll;
  std::vector<ExchangeBuffer> buffers = {
      {"input", bytes(own)},
      {"output", bytes(rows * row(shape))},
      {"receive", bytes(row_an_expert ? everyone * shape.topk : everyone)},
      {"indices", bytes((shape.ranks * shape.tokens * shape.topk + rows) * kIndex)}};
  if (sonic_combine(spec, shape) != Primitive::kAllToAll) {
    buffers.push_back({"partial sums", bytes(everyone)});
  }
  if (spec.redispatch_in_backward) {
    buffers.push_back({"redispatch", bytes(own + everyone)});
  }
  return buffers;
}

std::vector<ExchangeBuffer> hybridep_buffers(const ExchangeShape& shape) {
  const std::int64_t tokens = shape.ranks * shape.tokens;
  const std::int64_t experts_in_domain = shape.local_experts() * shape.ranks_in_domain;
  std::vector<ExchangeBuffer> buffers = {
      {"tokens", bytes(tokens * row(shape))},
      {"probabilities", bytes(tokens * experts_in_domain * kIndex)}};
  if (beyond_a_domain(shape)) {
    buffers.push_back({"network", bytes(shape.tokens * (shape.domains() - 1) * row(shape))});
  }
  return buffers;
}

std::vector<ExchangeBuffer> deepep_buffers(const ExchangeSpec& spec, const ExchangeShape& shape) {
  const std::int64_t channels =
      units_held(spec, units_held({.dispatcher = Dispatcher::kDeepEp}, 0)) / 2;
  const std::int64_t peers = std::min(shape.ranks, kPeers);
  const std::int64_t nodes = std::max<std::int64_t>(1, shape.ranks / kPeers);
  // Tokens of a chunk that a channel receives, as its tables of configurations have them.
  const std::int64_t chunk = nodes > 1 ? 288 : 256;
  const std::int64_t token = row(shape) + kMetadata + kTokenExtras;
  const std::int64_t inside =
      channels * peers * (2 * nodes + 3) * kIndex + channels * peers * chunk * token;
  std::vector<ExchangeBuffer> buffers = {{"nvlink", bytes(aligned(inside, kAlignment))}};
  if (nodes > 1) {
    const std::int64_t network_chunk = nodes == 2 ? 140 : 128;
    const std::int64_t outside = channels * nodes * (2 * kPeers + 2) * 2 * kIndex +
                                 2 * channels * nodes * network_chunk * (token + kHeader) +
                                 kReserve;
    buffers.push_back({"network", bytes(aligned(outside, kAlignment))});
  }
  return buffers;
}

std::vector<ExchangeBuffer> low_latency_buffers(const ExchangeShape& shape) {
  const std::int64_t scales = shape.hidden / 128;
  const std::int64_t dispatch = kHeader + std::max(row(shape), shape.hidden + scales * kIndex);
  const std::int64_t combine = scales * kIndex + row(shape);
  const std::int64_t slots = shape.experts * shape.tokens;
  const std::int64_t send = std::max(shape.tokens * dispatch, slots * combine);
  const std::int64_t receive = slots * std::max(dispatch, combine);
  const std::int64_t signals =
      aligned(shape.experts * kCounter + shape.local_experts() * kIndex, kAlignment);
  return {
      {"send", bytes(2 * send)}, {"receive", bytes(2 * receive)}, {"signals", bytes(2 * signals)}};
}

std::vector<ExchangeBuffer> exchange_buffers(const ExpansionContext& context) {
  if (!context.model.moe || context.plan.ep == 1) {
    return {};
  }
  const ExchangeSpec& spec = context.plan.exchange;
  const ExchangeShape shape = exchange_shape(context);
  std::vector<ExchangeBuffer> buffers;
  switch (dispatcher_in_use(context.plan)) {
    case Dispatcher::kAllToAll:
      return both_ways("rows", sent_rows(spec, shape), shape);
    case Dispatcher::kAllGather:
      return both_ways("gathered tokens", shape.ranks * shape.tokens, shape);
    case Dispatcher::kDeepEpLowLatency:
      return low_latency_buffers(shape);
    case Dispatcher::kHybridEp:
      return hybridep_buffers(shape);
    case Dispatcher::kSonic:
      return sonic_workspace(spec, shape, buffer_rows(context));
    case Dispatcher::kMinimalAsyncEp:
      return minimal_async_buffers(shape, buffer_rows(context));
    case Dispatcher::kDeepEp:
    case Dispatcher::kDeepEpV2:
      break;
  }
  buffers = deepep_buffers(spec, shape);
  const bool fixed = receive_buffer_of(spec) == ReceiveBuffer::kWorstCase;
  const std::int64_t rows = fixed ? shape.ranks * shape.tokens : received_rows(shape);
  buffers.push_back({"rows", bytes(2 * rows * row(shape))});
  return buffers;
}

Bytes total(const std::vector<ExchangeBuffer>& buffers) {
  Bytes sum;
  for (const ExchangeBuffer& buffer : buffers) {
    sum += buffer.bytes;
  }
  return sum;
}

}  // namespace stepcast
