// SPDX-License-Identifier: Apache-2.0
// LoRA as PEFT says it, as training.lora: adapter_config.json, LoraConfig(...) in Python, and the
// keys that TRL, axolotl and LLaMA-Factory have for it.
//
//   {"peft_type": "LORA", "r": 8, "target_modules": ["q_proj", "v_proj"]}
//   lora: {rank: 8, targets: [q, v]}
//
// Source: huggingface/peft at 5d602fdbf, src/peft/tuners/lora/config.py; where no modules are
// named, those of utils/constants.py. Modules that are trained whole beside adapters
// (modules_to_save) are left out of what is frozen.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "frameworks/trainer_run.hpp"
#include "stepcast/config/config_writer.hpp"

namespace stepcast {

// What a tool calls PEFT's keys.
struct PeftKeys {
  std::string_view rank = "lora_r";
  std::string_view targets = "lora_target_modules";
  std::string_view dropout = "lora_dropout";
  std::string_view saved = "lora_modules_to_save";
  std::optional<std::int64_t> usual_rank{};  // without it the rank must be in the file
};
PeftAdapters read_adapter_keys(FrameworkReader& settings, const PeftKeys& keys);

// Settings that begin with "adapter." are those of adapter_config.json.
inline constexpr std::string_view kAdapterPrefix = "adapter.";
// Nothing where a file has none.
std::optional<PeftAdapters> read_peft_adapters(FrameworkReader& settings);

// The keys `lora` and `frozen` of a training section.
void write_adapters(const PeftAdapters& adapters, FrameworkReader& settings,
                    ConfigWriter& training);

// An adapter_config.json as the part of an experiment that it is, with what is left out as
// comments. Throws ConfigError.
std::string imported_adapters(std::string_view json_text, const std::string& file_name);
// Whether a JSON text is one.
bool is_adapter_config(std::string_view json_text);

}  // namespace stepcast
