// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/schedule_comparison.hpp"

#include "stepcast/pipeline/schedules/schedule_info.hpp"

namespace stepcast {

std::vector<Projection> compare_schedules(const Experiment& experiment, const CostModel& cost) {
  std::vector<Projection> projections;
  Experiment asked = experiment;
  for (const ScheduleInfo& info : schedule_infos()) {
    asked.plan.schedule = info.schedule;
    // A pipeline of one rank has nothing to interleave; it is refused for that, not for its vpp.
    asked.plan.vpp = experiment.plan.pp > 1 ? chunks_for(info.schedule, experiment.plan.vpp) : 1;
    projections.push_back(project(asked, cost));
  }
  return projections;
}

}  // namespace stepcast
