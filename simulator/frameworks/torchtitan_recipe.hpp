// SPDX-License-Identifier: Apache-2.0
// A configuration function of torchtitan (config_registry.py, since 2026) as settings under the
// names of its job configs, `section.key`.
//
//   model_spec=model_registry("70B", converters=[...])  ->  model.flavor, model.converters
//   activation_checkpoint=FullAC.Config()               ->  activation_checkpoint.mode full
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frameworks/setting.hpp"

namespace stepcast {

// `function` may be empty where the file has one alone. Throws ConfigError.
std::vector<Setting> torchtitan_recipe(std::string_view text, const std::string& file,
                                       const std::string& function);

}  // namespace stepcast
