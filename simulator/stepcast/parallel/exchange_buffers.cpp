// SPDX-License-Identifier: Apache-2.0
#include "stepcast/parallel/exchange_buffers.hpp"

#include "stepcast/parallel/dispatcher_model.hpp"

namespace stepcast {
namespace {

using Primitive = ExchangePrimitive;

constexpr std::int64_t kElement = 2;  // bytes of a 16-bit value

Primitive sonic_choice(const ExchangeShape& shape, Primitive gathered) {
  if (shape.domains() > 1) {
    return Primitive::kNodeDedup;
  }
  const bool few = shape.ranks <= 2 || 10 * shape.ranks <= 8 * shape.topk;
  return few ? gathered : Primitive::kRankDedup;
}

}  // namespace

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

ExchangeBuffer buffer_of(std::string_view name, std::int64_t count) {
  return {name, Bytes(static_cast<double>(count))};
}

std::int64_t row_bytes(const ExchangeShape& shape) { return shape.hidden * kElement; }

ExchangeBuffer both_ways(std::string_view name, std::int64_t rows, const ExchangeShape& shape) {
  return buffer_of(name, 2 * rows * row_bytes(shape));
}

std::vector<ExchangeBuffer> exchange_buffers(const ExpansionContext& context) {
  const ParallelPlan& plan = context.plan;
  if (!context.model.moe || plan.ep == 1) {
    return {};
  }
  const DispatcherModel& model = model_of(dispatcher_in_use(plan));
  return model.buffers(
      {plan.exchange, exchange_shape(context), buffer_rows(context), plan.exchange_units});
}

Bytes total(const std::vector<ExchangeBuffer>& buffers) {
  Bytes sum;
  for (const ExchangeBuffer& buffer : buffers) {
    sum += buffer.bytes;
  }
  return sum;
}

}  // namespace stepcast
