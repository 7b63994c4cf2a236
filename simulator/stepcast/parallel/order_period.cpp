// SPDX-License-Identifier: Apache-2.0
#include "stepcast/parallel/order_period.hpp"

#include <algorithm>
#include <iterator>

namespace stepcast {
namespace {

const PipelineTask& at(const RankOrder& order, std::int64_t i) {
  return order[static_cast<std::size_t>(i)];
}

bool repeats(const RankOrder& order, std::int64_t i, const OrderPeriod& period) {
  return follows(at(order, i), at(order, i + period.tasks), period.micro_batches);
}

bool holds(const RankOrder& order, const OrderPeriod& period) {
  for (std::int64_t i = period.begin; i < period.end; ++i) {
    if (!repeats(order, i, period)) {
      return false;
    }
  }
  return true;
}

void extend(const RankOrder& order, OrderPeriod& period) {
  while (period.begin > 0 && repeats(order, period.begin - 1, period)) {
    --period.begin;
  }
  while (period.end + period.tasks < std::ssize(order) && repeats(order, period.end, period)) {
    ++period.end;
  }
}

}  // namespace

bool follows(const PipelineTask& earlier, const PipelineTask& later, std::int64_t micro_batches) {
  const auto shift = static_cast<std::int32_t>(micro_batches);
  const std::int32_t back = earlier.kind == TaskKind::kOverlapped ? shift : 0;
  return later.kind == earlier.kind && later.chunk == earlier.chunk &&
         later.micro_batch == earlier.micro_batch + shift &&
         later.backward_chunk == earlier.backward_chunk &&
         later.backward_micro_batch == earlier.backward_micro_batch + back;
}

std::int64_t longest_period(const PipelineShape& shape) {
  return 3 * std::max<std::int64_t>(2, shape.chunks) * shape.ranks;
}

std::optional<OrderPeriod> order_period(const RankOrder& order, std::int64_t longest) {
  const std::int64_t begin = std::ssize(order) / 4;
  const std::int64_t end = 3 * std::ssize(order) / 4;
  for (std::int64_t tasks = 1; tasks <= longest && begin + 2 * tasks <= end; ++tasks) {
    OrderPeriod period{tasks, at(order, begin + tasks).micro_batch - at(order, begin).micro_batch,
                       begin, end - tasks};
    if (period.micro_batches > 0 && holds(order, period)) {
      extend(order, period);
      return period;
    }
  }
  return std::nullopt;
}

}  // namespace stepcast
