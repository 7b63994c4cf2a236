// SPDX-License-Identifier: Apache-2.0
// Settings that change how an experiment trains, whatever it says beside the key that is changed.
#pragma once

#include <string>
#include <vector>

#include "stepcast/config/config_node.hpp"
#include "stepcast/plan/training_recipe.hpp"
#include "stepcast/result/diagnosis.hpp"

namespace stepcast {

// What takes those of `keys` out of a section of the experiment that it has.
KeySettings left_out(const ConfigNode& experiment, const std::string& section,
                     const std::vector<std::string>& keys);
// Another recomputation, without the keys of the one before.
KeySettings recomputation_settings(const ConfigNode& experiment, RecomputeKind kind);
// The same optimizer with its states on the host.
KeySettings optimizer_offload_settings(const ConfigNode& experiment);

}  // namespace stepcast
