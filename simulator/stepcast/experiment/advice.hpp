// SPDX-License-Identifier: Apache-2.0
// What becomes of an experiment if one of its settings is moved by one step, each with its effect
// on rate and memory: one projection of each. Of the best five that fit every two are tried
// together.
#pragma once

#include <vector>

#include "stepcast/experiment/varied_run.hpp"
#include "stepcast/result/explanation.hpp"

namespace stepcast {

// Those that fit first, then those that are tight and those that do not fit; the fastest first.
// Moves that change neither rate nor memory by a thousandth are left out, and so are plans that do
// not divide. `base` is the projection of the run's experiment; nothing if it was not timed.
std::vector<AdvisedChange> advice(const VariedRun& run, const Projection& base);

}  // namespace stepcast
