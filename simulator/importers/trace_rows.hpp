// SPDX-License-Identifier: Apache-2.0
// A profiler's trace of a step beside what the simulator says about it: one row a category.
//
// Which step a trace is of follows from its file name, which is the `case` of a line in steps.jsonl
// beside it or one folder up, or from an experiment that the caller gives.
#pragma once

#include <optional>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/result/validation.hpp"
#include "stepcast/validation/canonical_record.hpp"

namespace stepcast {

// Throws ConfigError for a trace that cannot be read or whose step is not known.
std::vector<ValidationRow> trace_rows(const std::filesystem::path& file,
                                      const std::optional<Experiment>& experiment,
                                      ProfileCache& profiles, const CostModel& cost);

}  // namespace stepcast
