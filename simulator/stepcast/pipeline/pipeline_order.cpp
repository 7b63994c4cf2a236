// SPDX-License-Identifier: Apache-2.0
#include "stepcast/pipeline/pipeline_order.hpp"

#include <algorithm>
#include <iterator>

#include "stepcast/pipeline/schedules/schedule_info.hpp"

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

PassOrder pass_order(const ParallelPlan& plan, const ModelSpec& model,
                     const SoftwareSpec& software) {
  const PairRule rule = info(plan.schedule).pairs;
  const bool possible = rule != PairRule::kByItself &&
                        (plan.pp == 1 || rule == PairRule::kAsSoftware) && !plan.uniform;
  const bool gathers = plan.zero == 3 && plan.fsdp_reshard && plan.replicas() > 1;
  return software.ep_overlap && model.moe && possible && !gathers ? PassOrder::kPaired
                                                                  : PassOrder::kOneByOne;
}

PipelineRuntime pipeline_runtime(const ParallelPlan& plan, const ModelSpec& model,
                                 const SoftwareSpec& software) {
  const bool several = chunks_per_rank(plan.schedule, pipeline_shape(plan)) > 1;
  return {pass_order(plan, model, software),
          several ? software.pipeline_transfers : PipelineTransfers::kFree};
}

RankOrder paired_order(const RankOrder& order) {
  RankOrder pairs;
  pairs.reserve(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool pair = i + 1 < order.size() && order[i].kind == TaskKind::kBackward &&
                      order[i + 1].kind == TaskKind::kForward;
    if (!pair) {
      pairs.push_back(order[i]);
      continue;
    }
    PipelineTask both = order[i + 1];
    both.kind = TaskKind::kOverlapped;
    both.backward_chunk = order[i].chunk;
    both.backward_micro_batch = order[i].micro_batch;
    pairs.push_back(both);
    ++i;
  }
  return pairs;
}

std::vector<RankOrder> pipeline_orders(Schedule schedule, const PipelineShape& shape,
                                       PassOrder order) {
  std::vector<RankOrder> orders = pipeline_orders(schedule, shape);
  if (order == PassOrder::kPaired) {
    std::transform(orders.begin(), orders.end(), orders.begin(), paired_order);
  }
  return orders;
}

}  // namespace stepcast
