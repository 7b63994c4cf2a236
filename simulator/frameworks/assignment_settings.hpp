// SPDX-License-Identifier: Apache-2.0
// Assignments of a command line as settings: KEY=VALUE, --KEY=VALUE, or --KEY for a switch.
#pragma once

#include <string>
#include <vector>

#include "frameworks/setting.hpp"

namespace stepcast {

// Throws ConfigError for one that is neither.
std::vector<Setting> assignment_settings(const std::vector<std::string>& overrides);

}  // namespace stepcast
