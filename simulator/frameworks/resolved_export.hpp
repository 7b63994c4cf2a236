// SPDX-License-Identifier: Apache-2.0
// What the writers of frameworks' files begin with: the plan with every degree settled.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/experiment/experiment.hpp"

namespace stepcast {

// Throws ConfigError with every reason where the plan cannot run.
ParallelPlan resolved_for_export(const Experiment& experiment, std::string_view framework);

// n where the list is every n-th of `layers` layers, the last of each n; else 0.
std::int64_t layer_step(const std::vector<std::int64_t>& listed, std::int64_t layers);

// The shortest digits that read back to the number: "0.5".
std::string shortest(double number);

}  // namespace stepcast
