// SPDX-License-Identifier: Apache-2.0
// Software sets that a run may have had, or could have, instead of the one that its experiment
// names.
#pragma once

#include <string>
#include <vector>

#include "stepcast/experiment/experiment.hpp"
#include "stepcast/result/diagnosis.hpp"

namespace stepcast {

// Those that describe the framework of the experiment at another time.
std::vector<std::string> other_releases(const Experiment& experiment, const DataRoot& data);

// Those too, with the sets that the experiment's is on top of, and all releases of their families:
// of an eager set what the framework is when it is compiled. Each once, without the experiment's.
std::vector<std::string> kindred_software(const Experiment& experiment, const DataRoot& data);

// What gives an experiment, as it was written, another set beneath the switches of its own.
KeySettings software_settings(const ConfigNode& experiment, const std::string& set);

}  // namespace stepcast
