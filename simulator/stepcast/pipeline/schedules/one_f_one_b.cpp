// SPDX-License-Identifier: Apache-2.0
#include "stepcast/pipeline/schedules/one_f_one_b.hpp"

#include <algorithm>

namespace stepcast {
namespace {

// Forwards that rank `rank` runs before it alternates, at most all.
using WarmUp = std::int64_t (*)(const PipelineShape& shape, std::int64_t rank);

std::int64_t all_tasks(const PipelineShape& shape, std::int64_t) {
  return shape.chunks * shape.micro_batches;
}

std::int64_t ranks_behind(const PipelineShape& shape, std::int64_t rank) {
  return shape.ranks - 1 - rank;
}

// Those of all chunks but the last for the largest group, since a backward waits for the last
// chunk, and two for each rank behind.
std::int64_t interleaved_warm_up(const PipelineShape& shape, std::int64_t rank) {
  return 2 * ranks_behind(shape, rank) + (shape.chunks - 1) * largest_group(shape);
}

RankOrder alternating(const RankOrder& forwards, const RankOrder& backwards, std::size_t warm) {
  RankOrder order;
  order.reserve(2 * forwards.size());
  order.assign(forwards.begin(), forwards.begin() + static_cast<std::ptrdiff_t>(warm));
  for (std::size_t i = warm; i < forwards.size(); ++i) {
    order.push_back(forwards[i]);
    order.push_back(backwards[i - warm]);
  }
  order.insert(order.end(), backwards.end() - static_cast<std::ptrdiff_t>(warm), backwards.end());
  return order;
}

std::vector<RankOrder> alternating_orders(const PipelineShape& shape, WarmUp warm_up) {
  const RankOrder forwards = interleaved_tasks(shape, TaskKind::kForward);
  const RankOrder backwards = interleaved_tasks(shape, TaskKind::kBackward);
  std::vector<RankOrder> orders;
  orders.reserve(static_cast<std::size_t>(shape.ranks));
  for (std::int64_t rank = 0; rank < shape.ranks; ++rank) {
    const std::int64_t warm = std::min(all_tasks(shape, rank), warm_up(shape, rank));
    orders.push_back(alternating(forwards, backwards, static_cast<std::size_t>(warm)));
  }
  return orders;
}

}  // namespace

std::int64_t largest_group(const PipelineShape& shape) {
  return std::min(shape.micro_batches, shape.ranks + shape.micro_batches % shape.ranks);
}

RankOrder interleaved_tasks(const PipelineShape& shape, TaskKind kind) {
  RankOrder tasks;
  tasks.reserve(static_cast<std::size_t>(shape.chunks * shape.micro_batches));
  const std::int64_t groups = std::max<std::int64_t>(1, shape.micro_batches / shape.ranks);
  for (std::int64_t group = 0; group < groups; ++group) {
    const std::int64_t first = group * shape.ranks;
    const std::int64_t last = group + 1 == groups ? shape.micro_batches : first + shape.ranks;
    for (std::int64_t step = 0; step < shape.chunks; ++step) {
      const std::int64_t chunk = kind == TaskKind::kForward ? step : shape.chunks - 1 - step;
      for (std::int64_t micro_batch = first; micro_batch < last; ++micro_batch) {
        tasks.push_back(
            {kind, static_cast<std::int32_t>(chunk), static_cast<std::int32_t>(micro_batch)});
      }
    }
  }
  return tasks;
}

std::vector<RankOrder> gpipe_orders(const PipelineShape& shape) {
  return alternating_orders(shape, all_tasks);
}

std::vector<RankOrder> one_f_one_b_orders(const PipelineShape& shape) {
  return alternating_orders(shape, ranks_behind);
}

std::vector<RankOrder> interleaved_orders(const PipelineShape& shape) {
  return alternating_orders(shape, interleaved_warm_up);
}

}  // namespace stepcast
