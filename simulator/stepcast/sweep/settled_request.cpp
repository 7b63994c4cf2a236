// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/settled_request.hpp"

#include "stepcast/memory/memory_footprint.hpp"
#include "stepcast/settle/settle_plan.hpp"

namespace stepcast {

SettledRequest settled_request(const SweepSpace& space, std::int64_t index) {
  SettledRequest settled{space.request(index), nullptr, {}};
  settled.site = &space.sites()[settled.request.site];
  const Experiment& site = *settled.site;
  settled.plan = settle_plan(settled.request.plan, site.model, settled.request.training,
                             site.cluster, site.software)
                     .plan;
  return settled;
}

std::vector<StageMemory> memory_of(const SettledRequest& settled) {
  const Experiment& site = *settled.site;
  std::vector<StageMemory> memory = memory_by_stage(
      ExpansionContext{site.model, settled.plan, settled.request.training, site.software});
  judge_memory(memory, site.cluster.device);
  return memory;
}

}  // namespace stepcast
