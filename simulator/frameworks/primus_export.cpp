// SPDX-License-Identifier: Apache-2.0
// One YAML of Primus: the preset of a model where Primus has it, else its shape among the
// overrides. Presets of fd1eeabb whose shape is not the published one are not used: gpt_oss,
// qwen3_4B, qwen3_32B.
#include <algorithm>

#include "frameworks/bridge_adapters.hpp"
#include "frameworks/megatron_writer.hpp"
#include "frameworks/primus_import.hpp"
#include "frameworks/written_text.hpp"
#include "stepcast/base/ascii.hpp"

namespace stepcast {
namespace {

// primus/configs/models/megatron/NAME.yaml.
constexpr std::string_view kPresetNames =
    "deepseek_r1_distill_qwen_1.5B deepseek_v2 deepseek_v2_lite deepseek_v3 glm4_7 grok1 grok2 "
    "kimi_k2 llama2_13B llama2_70B llama2_7B llama3.1_405B llama3.1_70B llama3.1_8B llama3.2_1B "
    "llama3.2_3B llama3.3_70B llama3_70B llama3_8B llama4_17B128E llama4_17B16E minimax_m2.5 "
    "mixtral_8x22B_v0.1 mixtral_8x7B_v0.1 moe_1T moe_2T moe_4T moe_515B moe_proxy_single_node "
    "qwen2.5_14B qwen2.5_32B qwen2.5_3B qwen2.5_72B qwen2.5_7B qwen3_14B qwen3_235B_A22B "
    "qwen3_30B_A3B qwen3_8B";

std::string_view preset_of(const Experiment& experiment) {
  const auto same = [&](std::string_view preset) {
    return ascii::lower_case(preset.substr(0, preset.find("_v0.1"))) == experiment.named.model;
  };
  const std::vector<std::string_view> presets = names_in(kPresetNames);
  const auto found = std::find_if(presets.begin(), presets.end(), same);
  return found == presets.end() ? std::string_view{} : *found;
}

std::string lines_of(const std::string& title, const std::vector<Setting>& fields) {
  std::string text = "      # " + title + "\n";
  for (const Setting& field : fields) {
    text += "      " + field.name + ": " + yaml_value(field.value.text) + "\n";
  }
  return text;
}

// Later fields of a name count alone, and what the preset has anyway is left out.
std::vector<Setting> without_repeats(std::vector<Setting> fields) {
  std::vector<Setting> kept;
  for (Setting& field : fields) {
    std::erase_if(kept, [&](const Setting& other) { return other.name == field.name; });
    kept.push_back(std::move(field));
  }
  return kept;
}

// A dropout of 0.1, as its recipes have it, where there is any.
std::string adapters_of(const LoraSpec& lora) {
  return "      lora:\n        enabled: true\n        dim: " + std::to_string(lora.rank) +
         "\n        dropout: " + (lora.dropout ? "0.1" : "0.0") +
         "\n        target_modules: " + adapted_modules(lora) + "\n";
}

}  // namespace

std::vector<ExportRefusal> why_not_primus(const ExportInput& input) {
  return megatron_refusals(input, MegatronDialect::kPrimus);
}

std::vector<ExportedFile> export_primus(const ExportInput& input) {
  constexpr MegatronDialect kDialect = MegatronDialect::kPrimus;
  const Experiment& experiment = input.experiment;
  const ParallelPlan& plan = input.plan;
  const auto& lora = experiment.training.weights.lora;
  const std::string run = file_name_of(experiment.model.name) + (lora ? "-lora" : "-pretrain");
  const std::string preset(preset_of(experiment));
  const std::string model = preset.empty() ? "language_model" : preset;
  std::string text =
      "work_group: ${PRIMUS_TEAM:amd}\n"
      "user_name: ${PRIMUS_USER:root}\n"
      "exp_name: ${PRIMUS_EXP_NAME:" +
      run +
      "}\n"
      "workspace: ${PRIMUS_WORKSPACE:./output}\n\n"
      "modules:\n" +
      (lora ? "  post_trainer:\n" : "  pre_trainer:\n") + "    framework: megatron\n" +
      (lora ? "    config: sft_trainer.yaml\n" : "    config: pre_trainer.yaml\n") +
      "    model: " + model + ".yaml\n    overrides:\n";
  if (preset.empty()) {
    text += lines_of("model", megatron_model_fields(experiment.model, kDialect));
  }
  text += lines_of("training", megatron_training_fields(experiment));
  text += lines_of("plan",
                   megatron_plan_fields(experiment, plan, megatron_words(input.data), kDialect));
  text +=
      lines_of("software", without_repeats(megatron_software_fields(experiment, plan, kDialect)));
  if (lora) {
    text += adapters_of(*lora);
  }
  text +=
      "      # run\n"
      "      train_iters: 50\n"
      "      eval_iters: 0\n"
      "      mock_data: true\n"
      "      finetune: false\n";
  return {{run + ".yaml", std::move(text)}};
}

}  // namespace stepcast
