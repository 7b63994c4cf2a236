// SPDX-License-Identifier: Apache-2.0
// The errors of held-out runs by GPU and family of model: hardware_profiles/accuracy.yaml, which
// scripts/update_accuracy.sh writes from the shipped measurements.
#pragma once

#include "stepcast/experiment/experiment.hpp"
#include "stepcast/report/expected_error.hpp"

namespace stepcast {

// Reads the file; nothing without it. Throws ConfigError with all of its problems.
std::vector<ExpectedError> load_accuracy(const DataRoot& data);

// What is known of this GPU and family; no runs if that is nothing.
ExpectedError expected_error(const std::vector<ExpectedError>& known, const Experiment& experiment);

}  // namespace stepcast
