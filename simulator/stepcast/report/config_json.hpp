// SPDX-License-Identifier: Apache-2.0
// A tree of settings as JSON: plain scalars that are numbers or switches as such, the rest as
// texts.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "stepcast/config/config_node.hpp"

namespace stepcast {

nlohmann::ordered_json json_of(const ConfigNode& node);

}  // namespace stepcast
