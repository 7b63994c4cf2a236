// SPDX-License-Identifier: Apache-2.0
// The schedules of interleaved micro-batches: GPipe, 1F1B, interleaved 1F1B, and the last with
// split backwards.
//
// GPipe (Huang et al., arXiv 1811.06965): all forwards, then all backwards. 1F1B (Narayanan et al.,
// arXiv 2104.04473): rank r of p first runs min(m, p - 1 - r) forwards, then alternates one forward
// and one backward, then drains. Interleaved: the m micro-batches are taken in groups of p, the
// last of which also takes the remainder (a group smaller than p would wait for itself); a group
// passes through all v chunks of a rank before the next one starts; 2 (p - 1 - r) + (v - 1) g
// forwards warm up, g the largest group.
//
// Split backwards: ZB-H1 over several chunks a rank (PyTorch's
// ScheduleInterleavedZeroBubble, torch/distributed/pipelining/schedules.py; the split is that of Qi
// et al., arXiv 2401.10241).
//
// Forwards and input gradients go in the order of interleaved 1F1B, micro-batches in groups of p.
// Rank r of p warms up with (v - 1) g + p - 1 - r forwards, g the largest group: one for each rank
// behind, where whole backwards need two. Then it alternates a forward and an input gradient, and
// from the r-th pair on the oldest gradient of weights follows each of them, so that every rank
// holds as much as the first one. What is left of the weights' gradients comes last.
#include "stepcast/pipeline/schedules/schedule_orders.hpp"

#include <algorithm>

namespace stepcast {
namespace {

// Micro-batches of the last of the groups.
std::int64_t largest_group(const PipelineShape& shape) {
  return std::min(shape.micro_batches, shape.ranks + shape.micro_batches % shape.ranks);
}

// The tasks of one kind in the order of the interleaved schedule, which is the same on all ranks;
// backward ones take the chunks the other way round.
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

RankOrder zero_bubble_order(const PipelineShape& shape, std::int64_t rank) {
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

std::vector<RankOrder> gpipe_orders(const PipelineShape& shape) {
  return alternating_orders(shape, all_tasks);
}

std::vector<RankOrder> one_f_one_b_orders(const PipelineShape& shape) {
  return alternating_orders(shape, ranks_behind);
}

std::vector<RankOrder> interleaved_orders(const PipelineShape& shape) {
  return alternating_orders(shape, interleaved_warm_up);
}

std::vector<RankOrder> interleaved_zero_bubble_orders(const PipelineShape& shape) {
  std::vector<RankOrder> orders;
  orders.reserve(static_cast<std::size_t>(shape.ranks));
  for (std::int64_t rank = 0; rank < shape.ranks; ++rank) {
    orders.push_back(zero_bubble_order(shape, rank));
  }
  return orders;
}

}  // namespace stepcast
