// SPDX-License-Identifier: Apache-2.0
// The error to expect of a projection, from the held-out runs of hardware_profiles/accuracy.json,
// which scripts/update_accuracy.sh writes from the shipped measurements.
#pragma once

#include <vector>

#include "stepcast/experiment/error_model.hpp"

namespace stepcast {

// Reads the file; nothing without it. Throws ConfigError with all of its problems.
std::vector<HeldOutRun> load_accuracy(const DataRoot& data);

// What the `known` runs of other sources say of `run`. Its median and 90th percentile are those of
// the runs on its GPU and of its family or, where those are fewer than five of one source, of its
// nearest kin too: GPUs of its architecture, then of its vendor, then of all, until two sources are
// among them.
ExpectedError expected_error(const std::vector<HeldOutRun>& known, const RunTraits& run);
ExpectedError expected_error(const std::vector<HeldOutRun>& known, const Experiment& experiment);

}  // namespace stepcast
