// SPDX-License-Identifier: Apache-2.0
// A recipe of Megatron Bridge as Python writes it: assignments to cfg, a WorkloadBaseConfig.
// Nothing is run: a value that is no literal is left out, and named.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/bridge_recipe.hpp"
#include "frameworks/launch_size.hpp"
#include "frameworks/setting_reader.hpp"
#include "stepcast/config/config_node.hpp"

namespace stepcast {

// What a Python file assigns in so many words: cfg.model.x = 8, Config(x=8, y="a").
struct PythonAssignment {
  std::string target;  // "cfg.model.tensor_model_parallel_size"; of a call, its keyword
  ConfigNode value;    // a scalar or a list; of anything else its text, with `literal` false
  bool literal = true;
};

struct PythonFunction {
  std::string name;  // of the function, or of what a call is assigned to; empty outside of both
  std::vector<PythonAssignment> assignments;
  std::vector<std::string> calls;  // statements that are a call, as written
};

// The functions of a file in its order, and each "NAME = Call(key=value)" outside of them as one of
// that name. Throws ConfigError where brackets or quotes stay open.
std::vector<PythonFunction> python_functions(std::string_view text, const std::string& file);

// What a file of Megatron Bridge says, in Megatron's fields.
struct BridgeFile {
  BridgeRecipe recipe;
  std::vector<Setting> settings;
  std::vector<std::string> calls;   // that are not followed
  std::vector<std::string> values;  // that are no literals
  // Whether `settings` only change the recipe that is named, which the table may have.
  bool changes_recipe = false;
  std::string base;         // the recipe of the table; empty for none
  bool of_library = false;  // no performance preset
  bool has_plan = false;
  bool keeps_batch = false;  // also where the number of replicas is another than the recipe's
  std::vector<SettingDoubt> doubts;
  LaunchSize size;  // that a script's launcher says
  bool grows_segments = false;
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
