// SPDX-License-Identifier: Apache-2.0
// Whether tensor parallelism, and context parallelism that exchanges heads, divide what a model's
// layers have. Of layers that differ the first count is told that is in the way.
#pragma once

#include <string>
#include <vector>

#include "stepcast/graph/model_spec.hpp"
#include "stepcast/plan/parallel_plan.hpp"

namespace stepcast {

// Why they do not; empty where they do.
std::vector<std::string> layer_division_reasons(const ModelSpec& model, const ParallelPlan& plan);

}  // namespace stepcast
