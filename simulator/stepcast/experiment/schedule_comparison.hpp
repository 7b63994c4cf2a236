// SPDX-License-Identifier: Apache-2.0
// One experiment under every pipeline schedule.
#pragma once

#include <vector>

#include "stepcast/experiment/project.hpp"

namespace stepcast {

// A projection for each schedule, in the order of the enumeration; one that the plan does not allow
// is there with its reasons. Each has the virtual stages that its schedule needs: those of the plan
// if it has some and the schedule takes them, else one or two a rank.
std::vector<Projection> compare_schedules(const Experiment& experiment, const CostModel& cost);

}  // namespace stepcast
