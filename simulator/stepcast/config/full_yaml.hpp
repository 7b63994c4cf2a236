// SPDX-License-Identifier: Apache-2.0
// Reads any YAML with yaml-cpp: what it says of a text is what a config file means, and what is
// wrong with it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "stepcast/config/config_node.hpp"

namespace stepcast {

// The tree of `text`, null if it is empty. Throws ConfigError with all problems found.
ConfigNode read_full_yaml(std::string_view text, const std::shared_ptr<const std::string>& file);

}  // namespace stepcast
