// SPDX-License-Identifier: Apache-2.0
// The comparison of a trace with the projection of its step as text, JSON and CSV:
//
//   step measured             437.06 ms
//   step projected            431.52 ms  -1.3 %, the first step after a pause
//
//   Where the difference is, ms               measured  projected  difference
//   all_gather 208 MiB / 2                       46.95      52.10        5.15
//
// JSON, all times in seconds of device time unless said otherwise:
//   schema_version, context, feasible, reasons   as of `project`
//   trace            file, gpu, rank, world_size, devices, step, steps_marked, calls,
//                    calls_with_operator, calls_in_graphs
//   state            after_pause or steady: in which the projection is
//   pipeline_rank    whose operators are compared
//   step             measured_s, projected_s, error, steady_s (wall time)
//   time[]           name, measured_s, projected_s (wall time; they add up to the step)
//   categories[]     category, measured_s, waiting_s, slowed_s, projected_s, error
//   operators[]      category, shape, operators[], traced[], traced_calls, projected_calls,
//                    measured_s, waiting_s (of it, for peers), slowed_s (of it, beyond the least of
//                    its like), projected_s, error (of what is measured without waiting),
//                    launch ("24 x 544", blocks and threads, of a collective's kernel), protocol
//                    (that this tells)
//   only_in_trace[], only_in_projection[], without_shape[]   rows of the same keys
//   matched_share    of the measured time of operators with a shape, what the projection has
//   streams          measured[] (stream, calls, busy_s, mostly), projected[] (name, busy_s)
//   ranks            of several traces: ranks[] (file, rank, step_s, computation_s,
//                    communication_s, waiting_s, exposed_s, idle_s, last, waited_for_s,
//                    waits_for_s[]: for each of `ranks`),
//                    collectives[] (category, shape, calls, transfer_s, waiting_s[], last[]),
//                    calls[] (start_s, category, shape, transfer_s, waiting_s, last: which of
//                    `ranks` arrived last), alone
//   doubts[]         why the two may not be of the same step; text has them above all else
//   notes[]
// CSV has the rows of time, categories, operators and the three lists, one a line, with the list in
// the column `section`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "trace_reader/step_comparison.hpp"

namespace stepcast {

std::string to_text(const StepComparison& comparison);
nlohmann::ordered_json to_json(const StepComparison& comparison);
std::string to_csv(const StepComparison& comparison);

}  // namespace stepcast
