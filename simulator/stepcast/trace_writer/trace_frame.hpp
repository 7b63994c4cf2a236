// SPDX-License-Identifier: Apache-2.0
// What stands in a trace around its operators: before the events, as Kineto writes it, the devices,
// the ranks and their process groups, units of time, and beside it, under "projection", what the
// trace is of; among the events the names of processes and threads, the marks of the step and of
// its passes, and counters.
#pragma once

#include <string>
#include <vector>

#include "stepcast/hardware/cluster_spec.hpp"
#include "stepcast/trace_writer/process_groups.hpp"
#include "stepcast/trace_writer/trace_text.hpp"

namespace stepcast {

struct TraceFrame {
  const ClusterSpec& cluster;
  const Projection& projection;
  const PlacedStep& step;
  const DeviceSlices& device;
  TraceProcesses processes;
  std::int64_t rank = 0;
  std::int64_t first_call = 0;  // ns from the start of the step, where its host begins
};

// Without its closing brace.
std::string trace_head(const TraceFrame& frame, const std::vector<NamedGroup>& groups);

void write_frame(const TraceFrame& frame, TraceJson& json);

}  // namespace stepcast
