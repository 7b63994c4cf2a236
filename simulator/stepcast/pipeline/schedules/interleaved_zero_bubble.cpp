// SPDX-License-Identifier: Apache-2.0
#include "stepcast/pipeline/schedules/interleaved_zero_bubble.hpp"

#include <algorithm>

#include "stepcast/pipeline/schedules/one_f_one_b.hpp"

namespace stepcast {
namespace {

RankOrder order_of(const PipelineShape& shape, std::int64_t rank) {
  const RankOrder forwards = interleaved_tasks(shape, TaskKind::kForward);
  const RankOrder inputs = interleaved_tasks(shape, TaskKind::kInputGradient);
  const RankOrder weights = interleaved_tasks(shape, TaskKind::kWeightGradient);
  const std::int64_t behind = shape.ranks - 1 - rank;
  const auto tasks = static_cast<std::int64_t>(forwards.size());
  const std::int64_t warm = std::min(tasks, (shape.chunks - 1) * largest_group(shape) + behind);
  RankOrder order(forwards.begin(), forwards.begin() + warm);
  order.reserve(3 * forwards.size());
  for (std::int64_t i = 0; i < tasks; ++i) {
    if (warm + i < tasks) {
      order.push_back(forwards[static_cast<std::size_t>(warm + i)]);
    }
    order.push_back(inputs[static_cast<std::size_t>(i)]);
    if (i >= rank) {
      order.push_back(weights[static_cast<std::size_t>(i - rank)]);
    }
  }
  order.insert(order.end(), weights.end() - std::min(tasks, rank), weights.end());
  return order;
}

}  // namespace

std::vector<RankOrder> interleaved_zero_bubble_orders(const PipelineShape& shape) {
  std::vector<RankOrder> orders;
  orders.reserve(static_cast<std::size_t>(shape.ranks));
  for (std::int64_t rank = 0; rank < shape.ranks; ++rank) {
    orders.push_back(order_of(shape, rank));
  }
  return orders;
}

}  // namespace stepcast
