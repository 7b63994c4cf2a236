// SPDX-License-Identifier: Apache-2.0
#include "stepcast/pipeline/paired_order.hpp"

#include <algorithm>

#include "stepcast/pipeline/schedules/schedule_info.hpp"

namespace stepcast {

PassOrder pass_order(const ParallelPlan& plan, const ModelSpec& model,
                     const SoftwareSpec& software) {
  const PairRule rule = info(plan.schedule).pairs;
  const bool possible = rule != PairRule::kByItself &&
                        (plan.pp == 1 || rule == PairRule::kAsSoftware) && !plan.uniform;
  const bool gathers = plan.zero == 3 && plan.fsdp_reshard && plan.replicas() > 1;
  return software.ep_overlap && model.moe && possible && !gathers ? PassOrder::kPaired
                                                                  : PassOrder::kOneByOne;
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
