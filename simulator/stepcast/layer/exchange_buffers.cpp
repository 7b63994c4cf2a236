// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/exchange_buffers.hpp"

#include "stepcast/layer/dispatcher_model.hpp"

namespace stepcast {
namespace {

constexpr std::int64_t kElement = 2;  // bytes of a 16-bit value

}  // namespace

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
  Bytes sum;
  for (const ExchangeBuffer& buffer : buffers) {
    sum += buffer.bytes;
  }
  return sum;
}

}  // namespace stepcast
