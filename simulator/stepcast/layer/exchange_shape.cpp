// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/exchange_shape.hpp"

#include <algorithm>
#include <cmath>

#include "stepcast/base/sum.hpp"
#include "stepcast/layer/dispatcher_model.hpp"
#include "stepcast/layer/exchange_rules.hpp"

namespace stepcast {
namespace {

constexpr std::int64_t kElement = 2;  // bytes of a 16-bit value

std::int64_t rounded(double rows) { return static_cast<std::int64_t>(std::llround(rows)); }

// T k of all etp ranks, those of the most loaded rank.
std::int64_t arriving_rows(const ExchangeShape& shape) {
  return rounded(static_cast<double>(shape.tokens * shape.topk) * shape.imbalance);
}

// What the capacity of the receive buffer lets in.
std::int64_t capacity_rows(const ExchangeSpec& spec, const ExchangeShape& shape) {
  return model_of(carried_by(spec)).capacity_rows(shape, spec.capacity_factor.value_or(1.0));
}

std::int64_t expert_rows(const ExpansionContext& context, const ExchangeShape& shape) {
  const ExchangeSpec& spec = context.plan.exchange;
  const DispatcherModel& model = model_of(dispatcher_in_use(context.plan));
  std::int64_t rows = arriving_rows(shape);
  if (receive_buffer_of(spec) == ReceiveBuffer::kCapacity) {
    const std::int64_t capacity = capacity_rows(spec, shape);
    rows = model.pads_to_capacity ? capacity : std::min(rows, capacity);
  }
  if (spec.pad_multiple > 1 && !model.skips_padding) {
    const std::int64_t experts = shape.local_experts();
    rows = padded_rows((rows + experts - 1) / experts, experts, spec.pad_multiple);
  }
  const bool gathered = model.expert_tensor_ranks == ExpertTensorRanks::kGatherAfterwards;
  return rows * (gathered ? context.plan.etp : 1);
}

}  // namespace

Dispatcher dispatcher_in_use(const ParallelPlan& plan) {
  const Dispatcher dispatcher = carried_by(plan.exchange);
  const bool alone = plan.ep == 1 && !model_of(dispatcher).serves_one_rank;
  return alone ? Dispatcher::kAllToAll : dispatcher;
}

PlacedExperts placed_experts(const ExpansionContext& context) {
  const ParallelPlan& plan = context.plan;
  const MoeSpec& moe = *context.model.moe;
  return place_copies(routing_of(plan.exchange, moe),
                      {moe.experts, moe.experts_per_token, context.sequence_tokens()}, plan.ep,
                      plan.exchange.redundant_experts / plan.ep);
}

ExchangeShape exchange_shape(const ExpansionContext& context) {
  const ParallelPlan& plan = context.plan;
  const MoeSpec& moe = *context.model.moe;
  const DispatcherModel& model = model_of(dispatcher_in_use(plan));
  const bool take_part = model.expert_tensor_ranks == ExpertTensorRanks::kTakePart;
  const std::int64_t wide = take_part ? plan.etp : 1;
  const PlacedExperts placed = placed_experts(context);
  const PartLoads loads = part_loads(
      placed.routing, {placed.places, moe.experts_per_token, context.sequence_tokens()}, plan.ep);
  const double mean_copies =
      static_cast<double>(moe.experts_per_token) / static_cast<double>(plan.ep);
  ExchangeShape shape;
  shape.tokens = context.sequence_tokens();
  shape.hidden = routed_width(context.model);
  shape.topk = moe.experts_per_token * wide;
  shape.experts = placed.places * wide;
  shape.copies = placed.most_copies;
  shape.ranks = plan.ep * wide;
  shape.ranks_in_domain =
      std::min(shape.ranks, plan.ep_in_domain > 0 ? plan.ep_in_domain * wide : shape.ranks);
  shape.imbalance = loads.most_copies / mean_copies;
  shape.destinations = static_cast<double>(wide) * loads.distinct;
  return shape;
}

std::int64_t rows_of_all_choices(const ExchangeShape& shape) {
  return shape.ranks * shape.tokens * std::min(shape.topk, shape.local_experts());
}

std::int64_t rows_of_usual_share(const ExchangeShape& shape, double factor) {
  return static_cast<std::int64_t>(
      std::ceil(factor * static_cast<double>(shape.tokens * shape.topk)));
}

std::int64_t expert_capacity(const ExchangeShape& shape, double factor) {
  return expert_capacity(shape.tokens, shape.topk, shape.experts, factor);
}

std::int64_t sent_rows(const ExchangeSpec& spec, const ExchangeShape& shape) {
  const bool padded = model_of(carried_by(spec)).pads_to_capacity &&
                      receive_buffer_of(spec) == ReceiveBuffer::kCapacity;
  return padded ? capacity_rows(spec, shape) : shape.tokens * shape.topk;
}

std::int64_t expert_rows(const ExpansionContext& context) {
  return expert_rows(context, exchange_shape(context));
}

std::int64_t buffer_rows(const ExpansionContext& context) {
  const ExchangeSpec& spec = context.plan.exchange;
  const ExchangeShape shape = exchange_shape(context);
  const DispatcherModel& model = model_of(dispatcher_in_use(context.plan));
  if (model.pads_to_capacity && receive_buffer_of(spec) == ReceiveBuffer::kCapacity) {
    return expert_rows(context, shape);
  }
  const auto worst = static_cast<double>(model.worst_case_rows(shape));
  switch (receive_buffer_of(spec)) {
    case ReceiveBuffer::kDynamic:
      return std::max(expert_rows(context, shape),
                      rounded(context.software.memory.static_rows * worst));
    case ReceiveBuffer::kWorstCase:
      return padded_rows(model.worst_case_rows(shape), 1, spec.pad_multiple);
    case ReceiveBuffer::kCapacity:
      return padded_rows(capacity_rows(spec, shape), 1, spec.pad_multiple);
  }
  return 0;
}

std::int64_t received_rows(const ExchangeShape& shape) {
  return rounded(static_cast<double>(shape.tokens) * shape.destinations);
}

ExchangeBuffer buffer_of(std::string_view name, std::int64_t count) {
  return {name, Bytes(static_cast<double>(count))};
}

std::int64_t row_bytes(const ExchangeShape& shape) { return shape.hidden * kElement; }

ExchangeBuffer both_ways(std::string_view name, std::int64_t rows, const ExchangeShape& shape) {
  return buffer_of(name, 2 * rows * row_bytes(shape));
}

LayerExchange layer_exchange(const ExpansionContext& context) {
  const ParallelPlan& plan = context.plan;
  return {plan.exchange, exchange_shape(context), buffer_rows(context), plan.exchange_units};
}

std::vector<ExchangeBuffer> exchange_buffers(const ExpansionContext& context) {
  const ParallelPlan& plan = context.plan;
  if (!context.model.moe || plan.ep == 1) {
    return {};
  }
  return model_of(dispatcher_in_use(plan)).buffers(layer_exchange(context));
}

Bytes total(const std::vector<ExchangeBuffer>& buffers) {
  return sum_over(buffers, &ExchangeBuffer::bytes);
}

}  // namespace stepcast
