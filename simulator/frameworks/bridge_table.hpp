// SPDX-License-Identifier: Apache-2.0
// Recipes of Megatron Bridge by name, with the fields of Megatron that each sets. One file a model,
// configs/recipes/megatron_bridge/MODEL.yaml:
//
//   source: "NVIDIA-NeMo/Megatron-Bridge at 067f987d, ..."
//   common: {bf16: true}                 # of every recipe that does not say otherwise
//   aliases: {llama3_8b_pretrain_config: llama3_8b_pretrain_2gpu_h100_bf16_config}
//   recipes:
//     llama3_8b_pretrain_2gpu_h100_bf16_config: {global_batch_size: 512, seq_length: 8192}
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/bridge_recipe.hpp"
#include "frameworks/setting.hpp"
#include "stepcast/hardware/data_root.hpp"

namespace stepcast {

struct BridgeTableEntry {
  std::string name;  // of the recipe itself where an alias was asked for
  std::vector<Setting> settings;
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
