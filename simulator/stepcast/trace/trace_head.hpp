// SPDX-License-Identifier: Apache-2.0
// What stands before the events of a trace, as Kineto writes it: the devices, the ranks and their
// process groups, units of time; and beside it, under "projection", what the trace is of.
#pragma once

#include <string>
#include <vector>

#include "stepcast/experiment/experiment.hpp"
#include "stepcast/result/projection.hpp"
#include "stepcast/trace/process_groups.hpp"

namespace stepcast {

// Without its closing brace.
std::string trace_head(const Experiment& experiment, const Projection& projection,
                       std::int64_t rank, const std::vector<NamedGroup>& groups);

}  // namespace stepcast
