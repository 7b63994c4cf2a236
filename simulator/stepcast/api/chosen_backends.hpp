// SPDX-License-Identifier: Apache-2.0
// The cost model that an experiment, a sweep or a list of choices asks for. `measured_in` reads the
// files of backends that have one; without it such a backend is refused.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/operators/measured_operator.hpp"
#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast {

// The operators that a file of measurements holds; none for an empty name.
using ReadMeasured = MeasuredOperators (*)(const std::string& file, const DataRoot& data);

// The default backends with the experiment's choices; records every role's in the experiment.
// Throws ConfigError with every choice that there is no backend for.
CostModel cost_model_of(Experiment& experiment, const DataRoot& data,
                        ReadMeasured measured_in = nullptr);

// The default backends with `choices`, each ROLE=NAME or ROLE=NAME:FILE. Problems call a choice by
// the name of the option that it was given with.
CostModel cost_model_of(const std::vector<std::string>& choices, std::string_view option,
                        const DataRoot& data, ReadMeasured measured_in = nullptr);

// Of every site of a sweep; sites with the same backends share theirs.
std::vector<CostModel> cost_models_of(const SweepSpace& space, const DataRoot& data,
                                      ReadMeasured measured_in = nullptr);

}  // namespace stepcast
