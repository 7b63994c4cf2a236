// SPDX-License-Identifier: Apache-2.0
// The fastest dispatchers as a table and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "stepcast/result/dispatcher_map.hpp"

namespace stepcast {

std::string to_text(const DispatcherMap& map);
nlohmann::ordered_json to_json(const DispatcherMap& map);

}  // namespace stepcast
