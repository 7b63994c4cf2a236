// SPDX-License-Identifier: Apache-2.0
#include "stepcast/pipeline/pipeline_order.hpp"

#include <algorithm>

#include "stepcast/pipeline/schedules/schedule_info.hpp"

namespace stepcast {

std::vector<RankOrder> pipeline_orders(Schedule schedule, const PipelineShape& shape) {
  return info(schedule).orders(shape);
}

RankOrder pipeline_order(Schedule schedule, const PipelineShape& shape, std::int64_t rank) {
  return std::move(pipeline_orders(schedule, shape)[static_cast<std::size_t>(rank)]);
}

ActivationChange activation_change(const PipelineTask& task) {
  switch (task.kind) {
    case TaskKind::kForward:
      return {task.chunk, kNoChunk};
    case TaskKind::kBackward:
    case TaskKind::kWeightGradient:
      return {kNoChunk, task.chunk};
    case TaskKind::kOverlapped:
      return {task.chunk, task.backward_chunk};
    case TaskKind::kInputGradient:
      break;
  }
  return {};
}

double peak_in_flight(const RankOrder& order, const PipelineShape& shape) {
  std::int64_t now = 0;
  std::int64_t peak = 0;
  for (const PipelineTask& task : order) {
    const ActivationChange change = activation_change(task);
    now += change.taken == kNoChunk ? 0 : 1;
    peak = std::max(peak, now);
    now -= change.returned == kNoChunk ? 0 : 1;
  }
  return static_cast<double>(peak * shape.ranks) / static_cast<double>(stage_count(shape));
}

}  // namespace stepcast
