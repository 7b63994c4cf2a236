// SPDX-License-Identifier: Apache-2.0
// What tells one sweep from another: its input, the profiles that it may read, and the program.
#pragma once

#include <string>

#include "stepcast/config/config_node.hpp"
#include "stepcast/experiment/experiment.hpp"

namespace stepcast {

// 32 hexadecimal digits. `root`: the sweep as a tree, with overrides; comments and blanks do not
// count. Of the data folder the hardware profiles count whole, of models and software sets those
// that `sites` use.
std::string sweep_digest(const ConfigNode& root, const std::vector<Experiment>& sites,
                         const std::filesystem::path& folder, const DataRoot& data,
                         const std::string& version);

}  // namespace stepcast
