// SPDX-License-Identifier: Apache-2.0
// The same work several times: on several GPUs, at several clocks, under several power limits,
// under every pipeline schedule.
#pragma once

#include <vector>

#include "stepcast/experiment/error_model.hpp"
#include "stepcast/experiment/project.hpp"

namespace stepcast {

// The projection of each experiment, in their order: each is what project() says of it alone, bit
// for bit, with the error to expect of it from the `known` runs (experiment/accuracy.hpp).
std::vector<Projection> projections_of(const std::vector<Experiment>& experiments,
                                       const CostModel& cost, const std::vector<HeldOutRun>& known);

// A projection of one experiment for each schedule, in the order of the enumeration; one that the
// plan does not allow is there with its reasons. Each has the virtual stages that its schedule
// needs: those of the plan if it has some and the schedule takes them, else one or two a rank.
std::vector<Projection> compare_schedules(const Experiment& experiment, const CostModel& cost);

}  // namespace stepcast
