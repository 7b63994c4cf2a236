// SPDX-License-Identifier: Apache-2.0
// Ranges of a sweep file: {from: 1, to: 64, times: 2} is 1, 2, 4 .. 64, and {from: 1, to: 8,
// step: 1} is 1, 2 .. 8. The step is 1 unless given. The end belongs to the range where a step
// meets it.
#pragma once

#include <string>
#include <vector>

#include "stepcast/config/config_node.hpp"

namespace stepcast {

// Whether a value is written as a range: a mapping with `from`, or with `to` and a step.
bool is_range(const ConfigNode& node);

// Its values as scalars at its place. A problem if it has none or never ends.
std::vector<ConfigNode> range_values(const std::string& key, const ConfigNode& range,
                                     Diagnostics& diagnostics);

}  // namespace stepcast
