// SPDX-License-Identifier: Apache-2.0
// Recipes of Megatron Bridge: their names, and the arguments of its launcher.
//
//   deepseek_v3_pretrain_256gpu_gb300_fp8mx_config
//   {model}_{task}_{N}gpu_{gpu}_{precision}[_variant]_config
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/export_refusal.hpp"
#include "frameworks/exported_file.hpp"
#include "frameworks/imported_experiment.hpp"
#include "frameworks/setting.hpp"

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

}  // namespace stepcast
