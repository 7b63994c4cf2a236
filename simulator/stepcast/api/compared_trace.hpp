// SPDX-License-Identifier: Apache-2.0
// A profiler's traces of a step beside the projection of an experiment, with what makes it doubtful
// that the two are of one step.
#pragma once

#include "stepcast/api/job.hpp"
#include "stepcast/inputs.hpp"
#include "trace_reader/step_comparison.hpp"

namespace stepcast {

// Of the first of the traces, of which there is at least one; the others say who waits for whom.
// Throws ConfigError for a file that is no such trace, and for one that is of another step.
StepComparison comparison_of(const Job& job, const TraceComparisonSettings& settings,
                             const DataRoot& data);

}  // namespace stepcast
