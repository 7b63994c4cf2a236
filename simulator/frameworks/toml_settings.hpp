// SPDX-License-Identifier: Apache-2.0
// A TOML file as settings with dotted names: `tensor_parallel_degree = 8` under [parallelism] is
// parallelism.tensor_parallel_degree.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frameworks/setting.hpp"

namespace stepcast {

// In the order of names. Throws ConfigError at the place of a fault of syntax.
std::vector<Setting> toml_settings(std::string_view text, const std::string& file);

}  // namespace stepcast
