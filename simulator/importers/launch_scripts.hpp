// SPDX-License-Identifier: Apache-2.0
// What the public scripts that launched a run say where its row is silent: the layout of its
// stages, modules that predict further tokens, what is recomputed, the cluster.
#pragma once

#include <string>

#include "importers/foreign_row.hpp"
#include "importers/stated_object.hpp"
#include "stepcast/hardware/data_root.hpp"

namespace stepcast {

// Changes `experiment`, and says so in `assumed`, with the script.
void follow_launch_script(StatedObject& row, const std::string& gpu, const DataRoot& data,
                          Record& experiment, Record& assumed);

}  // namespace stepcast
