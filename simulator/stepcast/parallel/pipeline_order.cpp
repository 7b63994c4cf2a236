// SPDX-License-Identifier: Apache-2.0
#include "stepcast/parallel/pipeline_order.hpp"

#include <algorithm>

namespace stepcast {
namespace {

// Forwards in the order of the interleaved schedule; backwards take the chunks the other way round.
std::vector<PipelineTask> grouped_tasks(const PipelineShape& shape, TaskKind kind) {
  std::vector<PipelineTask> tasks;
  tasks.reserve(static_cast<std::size_t>(shape.chunks * shape.micro_batches));
  for (std::int64_t first = 0; first < shape.micro_batches; first += shape.ranks) {
    const std::int64_t last = std::min(first + shape.ranks, shape.micro_batches);
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

// Forwards that rank `rank` runs before its first backward. The first backward needs the last
// chunk's first micro-batch, which comes after (v - 1) groups; a first group smaller than p needs
// fewer, but a small group at the end would then wait for itself, so warming up covers whole groups
// of p.
std::int64_t warm_up(Schedule schedule, const PipelineShape& shape, std::int64_t rank) {
  const std::int64_t behind = shape.ranks - 1 - rank;
  const std::int64_t total = shape.chunks * shape.micro_batches;
  if (schedule == Schedule::kOneFOneB) {
    return std::min(total, behind);
  }
  return std::min(total, 2 * behind + (shape.chunks - 1) * shape.ranks);
}

}  // namespace

std::vector<PipelineTask> pipeline_order(Schedule schedule, const PipelineShape& shape,
                                         std::int64_t rank) {
  const std::vector<PipelineTask> forwards = grouped_tasks(shape, TaskKind::kForward);
  const std::vector<PipelineTask> backwards = grouped_tasks(shape, TaskKind::kBackward);
  const auto warm = static_cast<std::size_t>(warm_up(schedule, shape, rank));
  std::vector<PipelineTask> order(forwards.begin(),
                                  forwards.begin() + static_cast<std::ptrdiff_t>(warm));
  order.reserve(2 * forwards.size());
  for (std::size_t i = warm; i < forwards.size(); ++i) {
    order.push_back(forwards[i]);
    order.push_back(backwards[i - warm]);
  }
  order.insert(order.end(), backwards.end() - static_cast<std::ptrdiff_t>(warm), backwards.end());
  return order;
}

}  // namespace stepcast
