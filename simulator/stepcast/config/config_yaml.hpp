// SPDX-License-Identifier: Apache-2.0
// A tree as YAML text that parse_config reads back to the same tree, apart from places.
//
//   model: llama3.1_70b
//   plan: {tp: 8, pp: 4}
//
// Mappings of scalars and lists stand on one line below the first level.
#pragma once

#include <string>

#include "stepcast/config/config_node.hpp"

namespace stepcast {

// A mapping as a block; anything else as one line.
std::string to_yaml(const ConfigNode& node);
// On one line: "{tp: 8, pp: 4}".
std::string to_flow_yaml(const ConfigNode& node);

}  // namespace stepcast
