// SPDX-License-Identifier: Apache-2.0
// A recipe of Megatron Bridge as Python writes it: assignments to cfg, a WorkloadBaseConfig.
#pragma once

#include <cstdint>
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
  // Whether `settings` only change the recipe that is named, which the table may have.
  bool changes_recipe = false;
  std::string base;  // the recipe of the table; empty for none
  bool has_plan = false;
};

// A recipe's field, by its path or its last name, or an option of the launcher as Megatron's field.
// Fields of the adapters keep that they are theirs: "peft.dim" is peft_dim.
std::string bridge_field(std::string_view path);

// A degree as the last setting of its name says it; 1 where none does.
std::int64_t degree_in(const std::vector<Setting>& settings, std::string_view name);

// The recipe `wanted`, or the only one of the file. Throws ConfigError where there is none, or
// several.
BridgeFile read_python_recipe(const ImportInput& input, const std::string& wanted);

}  // namespace stepcast
