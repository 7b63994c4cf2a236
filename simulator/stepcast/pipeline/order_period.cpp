// SPDX-License-Identifier: Apache-2.0
#include "stepcast/pipeline/order_period.hpp"

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

std::optional<OrderPeriod> order_period(const RankOrder& order,
                                        const PeriodCandidates& candidates) {
  const std::int64_t begin = std::ssize(order) / 4;
  const std::int64_t end = 3 * std::ssize(order) / 4;
  for (const std::int64_t micro_batches : {std::int64_t{1}, candidates.ranks}) {
    for (const std::int64_t tasks_of_chunk : {1, 2, 3}) {
      const std::int64_t tasks = tasks_of_chunk * candidates.chunks * micro_batches;
      OrderPeriod period{tasks, micro_batches, begin, end - tasks};
      if (begin + 2 * tasks <= end && holds(order, period)) {
        extend(order, period);
        return period;
      }
    }
  }
  return std::nullopt;
}

}  // namespace stepcast
