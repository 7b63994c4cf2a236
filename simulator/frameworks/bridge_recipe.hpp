// SPDX-License-Identifier: Apache-2.0
// Recipes of Megatron Bridge: their names, and the fields of Megatron that each sets.
//
//   deepseek_v3_pretrain_256gpu_gb300_fp8mx_config
//   {model}_{task}_{N}gpu_{gpu}_{precision}[_variant]_config
//
// The fields stand in tables, one file a model, configs/recipes/megatron_bridge/MODEL.yaml:
//
//   source: "NVIDIA-NeMo/Megatron-Bridge at 067f987d, ..."
//   common: {bf16: true}                 # of every recipe that does not say otherwise
//   aliases: {llama3_8b_pretrain_config: llama3_8b_pretrain_2gpu_h100_bf16_config}
//   library: [llama3_8b_pretrain_2gpu_h100_bf16_config]   # of src/megatron/bridge/recipes: none of
//                                                         # the performance presets
//   recipes:
//     llama3_8b_pretrain_2gpu_h100_bf16_config: {global_batch_size: 512, seq_length: 8192}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/exported_file.hpp"
#include "frameworks/imported_experiment.hpp"
#include "frameworks/setting.hpp"
#include "stepcast/hardware/data_root.hpp"

namespace stepcast {

struct BridgeRecipe {
  std::string model;  // "llama31_405b"
  std::string task;   // "pretrain"
  std::int64_t gpus = 0;
  std::string gpu;        // "gb300"
  std::string precision;  // "fp8mx"
  std::string variant;    // "large_scale"; empty for the recipe itself
};

// Nothing where the text is no name of a recipe.
std::optional<BridgeRecipe> parse_bridge_recipe(std::string_view name);
std::string bridge_recipe_name(const BridgeRecipe& recipe);

// The name in hardware_profiles/gpus of what recipes call `gpu`; empty if there is none.
std::string bridge_gpu(std::string_view gpu);
// The other way round.
std::string bridge_gpu_name(std::string_view ours);
// Those that there are recipes for: "h100, h200, b200".
std::string bridge_gpu_names();
// "llama31_405b" as `configs/models` has it: "llama3.1_405b".
std::string bridge_model(std::string_view model);
std::string bridge_model_name(std::string_view ours);
// Fields of Megatron for a precision of recipes ("fp8cs", "fp8_cs"); nothing for an unknown one.
std::optional<std::vector<Setting>> bridge_precision(std::string_view precision,
                                                     const Location& where);

ImportedExperiment import_megatron_bridge(const ImportInput& input);
std::vector<ExportedFile> export_megatron_bridge(const ExportInput& input);
std::vector<ExportRefusal> why_not_megatron_bridge(const ExportInput& input);

// A recipe of the tables.
struct BridgeTableEntry {
  std::string name;  // of the recipe itself where an alias was asked for
  std::vector<Setting> settings;
  bool of_library = false;  // no performance preset
};

// The recipe or alias `name`, with or without "_config"; nothing where no file has it.
std::optional<BridgeTableEntry> bridge_table_entry(std::string_view name, const DataRoot& data);

// The recipe of the most GPUs that is `recipe` in all but their number, as the launcher takes it
// for a number that no recipe has; nothing where there is none.
std::optional<BridgeTableEntry> bridge_table_largest(const BridgeRecipe& recipe,
                                                     const DataRoot& data);

// What most recipes of the model and the task of `recipe` that are no variant set `field` to; empty
// where there is none.
std::string bridge_table_usual(const BridgeRecipe& recipe, std::string_view field,
                               const DataRoot& data);

// Recipes and aliases of the model that `name` begins with; none where there is no such file.
std::vector<std::string> bridge_table_names(std::string_view name, const DataRoot& data);

// How the recipes of a model divide its layers over so many stages (pipeline times virtual ones);
// empty where none of them does.
std::string bridge_table_layout(std::string_view model, std::int64_t stages, const DataRoot& data);

}  // namespace stepcast
