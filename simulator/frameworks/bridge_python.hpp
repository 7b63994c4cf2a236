// SPDX-License-Identifier: Apache-2.0
// A recipe of Megatron Bridge as Python writes it: assignments to cfg, a WorkloadBaseConfig.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frameworks/bridge_recipe.hpp"

namespace stepcast {

// What a file of Megatron Bridge says, in Megatron's fields.
struct BridgeFile {
  BridgeRecipe recipe;
  std::vector<Setting> settings;
  std::vector<std::string> calls;   // that are not followed
  std::vector<std::string> values;  // that are no literals
  bool has_plan = false;
};

// A name of a recipe's field or of an option of the launcher as Megatron's field.
std::string bridge_field(std::string_view name);

// The recipe `wanted`, or the only one of the file. Throws ConfigError where there is none, or
// several.
BridgeFile read_python_recipe(const ImportInput& input, const std::string& wanted);

}  // namespace stepcast
