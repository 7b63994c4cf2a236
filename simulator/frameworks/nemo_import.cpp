// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <utility>

#include "frameworks/job_size.hpp"
#include "frameworks/launch_command.hpp"
#include "frameworks/megatron_core.hpp"
#include "frameworks/nemo.hpp"
#include "frameworks/nemo_recipe.hpp"
#include "frameworks/nemo_references.hpp"
#include "frameworks/text_form.hpp"
#include "frameworks/trainer_files.hpp"

namespace stepcast {
namespace {

constexpr LaunchedProgram kNemoProgram{
    "NeMo", "megatron_gpt_pretraining megatron_gpt_finetuning megatron_gpt_sft",
    ArgumentForm::kAssignments};
constexpr std::string_view kModelKeys = "model.";

struct NemoFile {
  std::vector<Setting> settings;  // with dots on the way
  std::vector<SettingDoubt> doubts;
  LaunchSize size;  // that a script's launcher says
  bool grows_segments = false;
};

// The last value of a key; null if it is not there.
const Setting* last_of(const std::vector<Setting>& settings, std::string_view name) {
  const auto found = std::find_if(settings.rbegin(), settings.rend(),
                                  [name](const Setting& setting) { return setting.name == name; });
  return found == settings.rend() ? nullptr : &*found;
}

bool is_true(const std::vector<Setting>& settings, std::string_view name) {
  const Setting* const setting = last_of(settings, name);
  return setting != nullptr && (setting->value.text == "true" || setting->value.text == "True");
}

// "--config-name=llama", "--config-name llama" of Hydra; empty where it is not given.
std::string hydra_option(const LaunchCommand& command, const std::string& name) {
  for (const Setting& setting : argument_settings(command.arguments)) {
    if (setting.name == name) {
      return setting.value.text.substr(0, setting.value.text.find(' '));
    }
  }
  return {};
}

// The YAML that a command names, beside the script or above it.
std::vector<Setting> hydra_config(const LaunchCommand& command, const ImportInput& input) {
  std::string name = hydra_option(command, "config_name");
  if (name.empty()) {
    return {};
  }
  name += name.ends_with(".yaml") ? "" : ".yaml";
  const std::filesystem::path path = hydra_option(command, "config_path");
  std::optional<std::string> text = text_near(input, (path / name).string());
  text = text ? text : text_near(input, name);
  if (!text) {
    throw ConfigError({input.file, 0, 0},
                      "names the configuration '" + name.substr(0, 100) +
                          "', which is not beside the script; put it there, or import it with the "
                          "script's model.key=value behind it");
  }
  return flat_settings(parse_config(*text, name), {});
}

NemoFile read_script(const ImportInput& input) {
  LaunchCommand command = launched_script(kNemoProgram, input).command;
  NemoFile file{hydra_config(command, input), std::move(command.doubts),
                launch_size(command.launcher), command.grows_segments};
  for (Setting& setting : settings_in(command.arguments, ArgumentForm::kAssignments)) {
    file.settings.push_back(std::move(setting));
  }
  return file;
}

NemoFile read_nemo_file(const ImportInput& input) {
  switch (form_of(input.text, input.file)) {
    case TextForm::kShell:
      return read_script(input);
    case TextForm::kPython:
      return {read_nemo_recipe(input), {}, {}, false};
    default:
      return {flat_settings(yaml_of(input), {}), {}, {}, false};
  }
}

void put_in_place_of(std::string_view name, Setting setting, std::vector<Setting>& settings) {
  std::erase_if(settings, [name](const Setting& one) { return one.name == name; });
  settings.push_back(std::move(setting));
}

// PyTorch Lightning's names of fp16.
void settle_precision(std::vector<Setting>& settings) {
  constexpr std::string_view kKey = "trainer.precision";
  const Setting* const precision = last_of(settings, kKey);
  if (precision != nullptr && is_among("16 16-mixed 16-true", precision->value.text)) {
    put_in_place_of(kKey, text_setting("model.fp16", "true", precision->value.location()),
                    settings);
  }
}

// NeMo turns fused sums of gradients off where it cannot have them: megatron_base_model.py,
// _validate_and_override_config.
void settle_gradient_fusion(std::vector<Setting>& settings) {
  constexpr std::string_view kKey = "model.gradient_accumulation_fusion";
  const bool may = is_true(settings, "model.megatron_amp_O2") && !is_true(settings, "model.fsdp");
  const Setting* const fusion = last_of(settings, kKey);
  if (fusion != nullptr && !may) {
    put_in_place_of(kKey, text_setting(std::string(kKey), "false", fusion->value.location()),
                    settings);
  }
}

// What several keys say together: the format of products, and who holds the optimizer's states.
void settle_together(std::vector<Setting>& settings, const Location& whole) {
  settle_precision(settings);
  settle_gradient_fusion(settings);
  if (const Setting* const fp8 = last_of(settings, "model.fp8")) {
    const bool on = is_true(settings, "model.fp8");
    const bool e4m3 = is_true(settings, "model.fp8_e4m3");
    put_in_place_of("model.fp8",
                    text_setting("model.fp8",
                                 !on    ? "None"
                                 : e4m3 ? "e4m3"
                                        : "hybrid",
                                 fp8->value.location()),
                    settings);
  }
  const Setting* const optimizer = last_of(settings, "model.optim.name");
  if (optimizer != nullptr && optimizer->value.text.find("distributed") != std::string::npos) {
    settings.push_back(text_setting("model.use_distributed_optimizer", "true", whole));
  }
}

// What NeMo has where a file says nothing and Megatron-LM has something else, in Megatron's words.
// Sources: megatron_base_model.py of NVIDIA/NeMo at 8cfedd72 (_build_model_parallel_config: rope
// and the gradients' sums are not fused; setup_optimization: Apex's distributed Adam keeps
// remainders of bf16 parameters under megatron_amp_O2).
std::vector<Setting> nemo_defaults(const std::vector<Setting>& settings, const Location& whole) {
  std::vector<Setting> defaults = {text_setting("apply_rope_fusion", "false", whole),
                                   text_setting("gradient_accumulation_fusion", "false", whole)};
  const Setting* const optimizer = last_of(settings, "model.optim.name");
  if (optimizer != nullptr && optimizer->value.text == "distributed_fused_adam" &&
      is_true(settings, "model.megatron_amp_O2")) {
    defaults.push_back(text_setting("use_precision_aware_optimizer", "true", whole));
  }
  return defaults;
}

// As Megatron's fields: by NeMo's table, and else without the group that holds the model.
std::vector<Setting> fields_of(std::vector<Setting> settings, const FrameworkWords& nemo,
                               const FrameworkWords& megatron) {
  settings = nemo.as_fields(std::move(settings));
  for (Setting& setting : settings) {
    const bool listed = std::ranges::any_of(nemo.words(), [&](const FrameworkWord& row) {
      return row.effect != WordEffect::kUnknown && row.stands_for(setting.name);
    });
    if (!listed && setting.name.starts_with(kModelKeys)) {
      setting.name.erase(0, kModelKeys.size());
    }
  }
  return megatron.as_fields(std::move(settings));
}

std::vector<Setting> given_settings(const ImportInput& input) {
  std::vector<Setting> given = assignment_settings(words_of_settings(input.overrides));
  for (Setting& setting : given) {
    if (setting.name.find('.') == std::string::npos) {
      setting.name = std::string(kModelKeys) + setting.name;
    }
  }
  return given;
}

}  // namespace

ImportedExperiment import_nemo(const ImportInput& input) {
  const FrameworkWords nemo = load_framework_words(input.data, "nemo");
  const FrameworkWords megatron = megatron_words(input.data);
  NemoFile file = read_nemo_file(input);
  for (Setting& setting : given_settings(input)) {
    std::erase_if(file.doubts,
                  [&](const SettingDoubt& doubt) { return doubt.name == setting.name; });
    file.settings.push_back(std::move(setting));
  }
  MegatronSource source;
  source.whole_file = {input.file, 0, 0};
  settle_references(file.settings);
  settle_together(file.settings, source.whole_file);
  source.model = megatron_default_model();
  source.grouped_by_switch = false;
  source.software = "nemo_2024";
  source.shipped = input.data;
  Diagnostics diagnostics;
  std::vector<Setting> defaults = nemo_defaults(file.settings, source.whole_file);
  FrameworkReader settings(fields_of(std::move(file.settings), nemo, megatron), diagnostics);
  settings.add_defaults(std::move(defaults));
  settings.add_doubts(std::move(file.doubts));
  nemo.read_rest(settings);
  const auto nodes = settings.count("nnodes", "cluster.nodes");
  source.gpus_per_node = settings.count("nproc_per_node", "cluster.gpus_per_node");
  source.gpus = cluster_gpus(input, nodes ? nodes : file.size.nodes, source.gpus_per_node, {});
  settings.assume(
      "software", source.software,
      "NeMo 1 of 2024; the file names no version, and what it leaves out is Megatron-LM's, "
      "but rope and sums of gradients, which NeMo does not fuse");
  FrameworkExperiment parts = read_megatron(settings, source, megatron, input.unknown);
  diagnostics.throw_if_any();
  parts.grows_segments = file.grows_segments;
  return assembled(std::move(parts), input);
}

}  // namespace stepcast
