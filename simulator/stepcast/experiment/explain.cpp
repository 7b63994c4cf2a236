// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/explain.hpp"

#include <algorithm>

#include "stepcast/cost/power_level.hpp"
#include "stepcast/cost/roofline_bound.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/graph/expert_traffic.hpp"
#include "stepcast/schedule/step_time.hpp"

namespace stepcast {

Explanation explain(const Experiment& experiment, const CostModel& cost) {
  Explanation result;
  result.projection = project(experiment, cost);
  const Projection& p = result.projection;
  if (!p.priced) {
    return result;
  }
  const ExpansionContext expansion{experiment.model, p.plan, experiment.training,
                                   experiment.software};
  const ClusterSpec& cluster = experiment.cluster;
  const KernelContext kernel = kernel_context({expansion, cluster, cost, p.clock}, Detail::kTerms);
  for (CountedOp& counted : operator_inventory(expansion, p.time.slowest_rank)) {
    const KernelContext own =
        p.clock_locked ? kernel : within_level(counted.op, cost, kernel, cluster);
    OpCost price = cost.cost(counted.op, own, cluster);
    const Seconds bound = roofline_bound(counted.op, cluster.device, own.clock);
    const Bytes carried = interconnect_bytes(counted.op, cluster.domain_size());
    result.operators.push_back({std::move(counted), std::move(price), bound, carried});
  }
  std::stable_sort(
      result.operators.begin(), result.operators.end(),
      [](const ExplainedOp& a, const ExplainedOp& b) { return a.total() > b.total(); });
  return result;
}

}  // namespace stepcast
