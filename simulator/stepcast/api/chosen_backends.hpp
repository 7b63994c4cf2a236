// SPDX-License-Identifier: Apache-2.0
// The cost model that an experiment, a sweep or a list of choices asks for.
#pragma once

#include <string>
#include <vector>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/inputs.hpp"
#include "stepcast/operator_lines/operator_line.hpp"
#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast {

// The operators that a file of measurements holds. Throws ConfigError.
MeasuredOperators measured_in(const std::string& file, const DataRoot& data);

// The default backends with the experiment's choices; records every role's in the experiment.
// Throws ConfigError with every choice that there is no backend for.
CostModel cost_model_of(Experiment& experiment, const DataRoot& data);
void name_backends(Experiment& experiment);  // the recording alone

// The default backends with `choices`, each ROLE=NAME or ROLE=NAME:FILE.
CostModel cost_model_of(const std::vector<Assignment>& choices, const DataRoot& data);

// Of each experiment; those with the same backends share theirs.
std::vector<CostModel> cost_models_of(const std::vector<Experiment>& experiments,
                                      const DataRoot& data);

}  // namespace stepcast
