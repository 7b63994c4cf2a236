// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/comparison.hpp"

#include "stepcast/experiment/accuracy.hpp"
#include "stepcast/pipeline/schedules/schedule_info.hpp"

namespace stepcast {

std::vector<Projection> projections_of(const std::vector<Experiment>& experiments,
                                       const CostModel& cost,
                                       const std::vector<HeldOutRun>& known) {
  std::vector<Projection> projections;
  projections.reserve(experiments.size());
  for (const Experiment& experiment : experiments) {
    Projection& projection = projections.emplace_back(project(experiment, cost));
    projection.expected_error = expected_error(known, experiment);
  }
  return projections;
}

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
