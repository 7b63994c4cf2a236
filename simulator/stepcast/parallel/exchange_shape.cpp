// SPDX-License-Identifier: Apache-2.0
#include "stepcast/parallel/exchange_shape.hpp"

#include <algorithm>
#include <cmath>

#include "stepcast/graph/routing.hpp"

namespace stepcast {
namespace {

std::int64_t rounded(double rows) { return static_cast<std::int64_t>(std::llround(rows)); }
std::int64_t rounded_up(double rows) { return static_cast<std::int64_t>(std::ceil(rows)); }

// T k of all etp ranks, those of the most loaded rank.
std::int64_t arriving_rows(const ExchangeShape& shape) {
  return rounded(static_cast<double>(shape.tokens * shape.topk) * shape.imbalance);
}

// What the capacity of the receive buffer lets in.
std::int64_t capacity_rows(const ExchangeSpec& spec, const ExchangeShape& shape) {
  const double factor = spec.capacity_factor.value_or(1.0);
  switch (carried_by(spec)) {
    case Dispatcher::kAllToAll:
      return shape.experts * expert_capacity(shape, factor);
    case Dispatcher::kHybridEp:
      return rounded_up(factor *
                        static_cast<double>(worst_case_rows(Dispatcher::kHybridEp, shape)));
    default:
      return rounded_up(factor * static_cast<double>(shape.tokens * shape.topk));
  }
}

// Kernels that skip what lies behind the last row of an expert do not compute the padding.
bool skips_padding(Dispatcher dispatcher) {
  return dispatcher == Dispatcher::kSonic || dispatcher == Dispatcher::kMinimalAsyncEp;
}

}  // namespace

Dispatcher dispatcher_in_use(const ParallelPlan& plan) {
  const Dispatcher dispatcher = carried_by(plan.exchange);
  const bool alone = plan.ep == 1 && dispatcher != Dispatcher::kSonic;
  return alone ? Dispatcher::kAllToAll : dispatcher;
}

ExchangeShape exchange_shape(const ExpansionContext& context) {
  const ParallelPlan& plan = context.plan;
  const MoeSpec& moe = *context.model.moe;
  const std::int64_t wide = dispatcher_in_use(plan) == Dispatcher::kAllToAll ? 1 : plan.etp;
  const Routing routing = routing_of(plan.exchange, moe);
  const PartLoads loads =
      part_loads(routing, {moe.experts, moe.experts_per_token, context.sequence_tokens()}, plan.ep);
  const double mean_copies =
      static_cast<double>(moe.experts_per_token) / static_cast<double>(plan.ep);
  ExchangeShape shape;
  shape.tokens = context.sequence_tokens();
  shape.hidden = context.model.hidden;
  shape.topk = moe.experts_per_token * wide;
  shape.experts = moe.experts * wide;
  shape.ranks = plan.ep * wide;
  shape.ranks_in_domain =
      std::min(shape.ranks, plan.ep_in_domain > 0 ? plan.ep_in_domain * wide : shape.ranks);
  shape.imbalance = loads.most_copies / mean_copies;
  shape.destinations = static_cast<double>(wide) * loads.distinct;
  return shape;
}

std::int64_t worst_case_rows(Dispatcher dispatcher, const ExchangeShape& shape) {
  // The low-latency kernels keep a slot for every token of every rank in every expert.
  const std::int64_t copies = dispatcher == Dispatcher::kDeepEpLowLatency
                                  ? shape.local_experts()
                                  : std::min(shape.topk, shape.local_experts());
  return shape.ranks * shape.tokens * copies;
}

std::int64_t expert_capacity(const ExchangeShape& shape, double factor) {
  return expert_capacity(shape.tokens, shape.topk, shape.experts, factor);
}

std::int64_t sent_rows(const ExchangeSpec& spec, const ExchangeShape& shape) {
  const bool dropped = carried_by(spec) == Dispatcher::kAllToAll &&
                       receive_buffer_of(spec) == ReceiveBuffer::kCapacity;
  return dropped ? capacity_rows(spec, shape) : shape.tokens * shape.topk;
}

std::int64_t expert_rows(const ExpansionContext& context) {
  const ExchangeSpec& spec = context.plan.exchange;
  const ExchangeShape shape = exchange_shape(context);
  const Dispatcher dispatcher = dispatcher_in_use(context.plan);
  const std::int64_t gathered = dispatcher == Dispatcher::kAllToAll ? context.plan.etp : 1;
  std::int64_t rows = arriving_rows(shape);
  if (receive_buffer_of(spec) == ReceiveBuffer::kCapacity) {
    const std::int64_t capacity = capacity_rows(spec, shape);
    rows = dispatcher == Dispatcher::kAllToAll ? capacity : std::min(rows, capacity);
  }
  if (spec.pad_multiple > 1 && !skips_padding(dispatcher)) {
    const std::int64_t experts = shape.local_experts();
    rows = padded_rows((rows + experts - 1) / experts, experts, spec.pad_multiple);
  }
  return rows * gathered;
}

std::int64_t buffer_rows(const ExpansionContext& context) {
  const ExchangeSpec& spec = context.plan.exchange;
  const ExchangeShape shape = exchange_shape(context);
  const Dispatcher dispatcher = dispatcher_in_use(context.plan);
  if (dispatcher == Dispatcher::kAllToAll) {
    return expert_rows(context);
  }
  switch (receive_buffer_of(spec)) {
    case ReceiveBuffer::kDynamic:
      return expert_rows(context);
    case ReceiveBuffer::kWorstCase:
      return padded_rows(worst_case_rows(dispatcher, shape), 1, spec.pad_multiple);
    case ReceiveBuffer::kCapacity:
      return padded_rows(capacity_rows(spec, shape), 1, spec.pad_multiple);
  }
  return 0;
}

std::int64_t received_rows(const ExchangeShape& shape) {
  return rounded(static_cast<double>(shape.tokens) * shape.destinations);
}

}  // namespace stepcast
