// SPDX-License-Identifier: Apache-2.0
// What Primus hands to the frameworks that it runs beside Megatron: their own keys, under
// `overrides`, with presets of Primus for what those leave out.
//
//   overrides: {training: {seq_len: 8192}}     ->  training.seq_len = 8192, of torchtitan
//
// Source: AMD-AGI/Primus at fd1eeabb, primus/configs/modules/{torchtitan,maxtext,megatron_bridge},
// primus/configs/models and primus/backends/{torchtitan,maxtext,megatron_bridge}.
#include <algorithm>
#include <array>

#include "frameworks/bridge_adapters.hpp"
#include "frameworks/bridge_recipe.hpp"
#include "frameworks/job_size.hpp"
#include "frameworks/maxtext.hpp"
#include "frameworks/megatron_core.hpp"
#include "frameworks/primus_import.hpp"
#include "frameworks/torchtitan.hpp"
#include "frameworks/torchtitan_words.hpp"
#include "frameworks/words.hpp"
#include "stepcast/base/ascii.hpp"
#include "stepcast/config/config_writer.hpp"
#include "stepcast/experiment/experiment.hpp"

namespace stepcast {
namespace {

// modules/torchtitan/pre_trainer.yaml, where it differs from torchtitan's own defaults.
constexpr std::array kTorchtitanPreset = {PresetValue{"compile.enable", "true"},
                                          PresetValue{"activation_checkpoint.mode", "none"}};
// modules/maxtext/pre_trainer.yaml and models/maxtext/model_base.yaml.
constexpr std::array kMaxTextPreset = {PresetValue{"weight_dtype", "bfloat16"},
                                       PresetValue{"remat_policy", "full"},
                                       PresetValue{"attention", "cudnn_flash_te"}};
// XLA_PYTHON_CLIENT_MEM_FRACTION of primus/backends/maxtext/env_spec.py (48536ab5).
constexpr double kMaxTextPool = 0.97;
// Keys of Primus' own runner.
constexpr std::string_view kOfPrimus =
    "trainable training.mock_data sink_level file_sink_level stderr_sink_level stage";

std::vector<Setting> dotted(const std::vector<Setting>& settings) {
  std::vector<Setting> all;
  for (const Setting& setting : settings) {
    for (Setting& leaf : dotted_settings(setting)) {
      all.push_back(std::move(leaf));
    }
  }
  return all;
}

void remark_on_presets(const PrimusConfig& config, FrameworkReader& settings) {
  if (!config.has_presets) {
    settings.assume("presets", config.model,
                    "Primus' own are not beside the file: the defaults of fd1eeabb");
  }
}

[[noreturn]] void refuse_model(const PrimusConfig& config, const ImportInput& input) {
  throw ConfigError({input.file, 0, 0},
                    "has the model '" + config.model.substr(0, 60) +
                        "', whose preset is in no folder primus/configs beside or above the file; "
                        "give it there");
}

// --- torchtitan ---------------------------------------------------------------------------------

// models/torchtitan: "llama3.1_70B-fp8" is module llama3 and flavor 70B, with a converter to
// float8.
std::vector<Setting> torchtitan_preset(const PrimusConfig& config, const ImportInput& input) {
  constexpr std::string_view kEightBits = "-fp8";
  const Location where{input.file, 0, 0};
  std::string name = ascii::lower_case(config.model);
  const bool eight_bits = name.ends_with(kEightBits);
  name.resize(name.size() - (eight_bits ? kEightBits.size() : 0));
  const std::size_t last = name.rfind('_');
  const std::string module = name.substr(0, std::min(name.find('.'), last));
  const FrameworkWords words = torchtitan_words(input.data);
  const std::vector<ModelFlavor>& flavors = words.models();
  const auto row = std::find_if(flavors.begin(), flavors.end(), [&](const ModelFlavor& flavor) {
    return flavor.module == module && last != std::string::npos &&
           ascii::lower_case(flavor.flavor) == name.substr(last + 1);
  });
  if (row == flavors.end()) {
    refuse_model(config, input);
  }
  std::vector<Setting> settings = {text_setting("model.name", module, where),
                                   text_setting("model.flavor", row->flavor, where)};
  const std::string converters =
      eight_bits ? "primus_turbo,quantize.linear.float8" : "primus_turbo";
  settings.push_back(text_setting("model.converters", converters, where));
  append_preset(kTorchtitanPreset, where, settings);
  return settings;
}

// The kernels that the converter primus_turbo and its switches put in place of PyTorch's.
void add_turbo(FrameworkReader& settings, FrameworkExperiment& parts) {
  constexpr std::string_view kWithoutEffect =
      "primus_turbo.use_turbo_float8_linear primus_turbo.use_turbo_mx_linear "
      "primus_turbo.use_turbo_async_tp primus_turbo.enable_embedding_autocast "
      "primus_turbo.use_turbo_grouped_mm primus_turbo.use_turbo_*";
  const auto converters = settings.texts("model.converters", "software.attention");
  const bool enabled = settings.is_on("primus_turbo.enable_primus_turbo", "software.attention");
  const bool attention =
      settings.is_on("primus_turbo.use_turbo_attention", "software.attention") && enabled;
  const bool converted = converters && std::find(converters->begin(), converters->end(),
                                                 "primus_turbo") != converters->end();
  if (attention || converted) {
    ConfigWriter writer;
    writer.field("attention", "aiter");
    parts.software_changes.entries.push_back(writer.take().entries.front());
  }
  settings.not_carried("primus_turbo.enable_attention_float8",
                       "attention's products are in 8 bits");
  settings.not_carried("primus_turbo.use_moe_fp8", "the experts' products are in 8 bits");
  settings.not_carried("primus_turbo.use_classic_attention",
                       "latent attention with keys of the whole width");
  settings.without_effect(kWithoutEffect);
}

// --- MaxText ------------------------------------------------------------------------------------

// models/maxtext: most are called as our models are, with capitals.
std::string maxtext_model_name(const PrimusConfig& config, const ImportInput& input) {
  constexpr PresetValue kSmallDeepSeek{"deepseek_v2_16b", "deepseek2-16b"};
  if (ascii::lower_case(config.model) == kSmallDeepSeek.name) {
    return std::string(kSmallDeepSeek.value);
  }
  const std::string shipped = shipped_model(config.model, input.data);
  const FrameworkWords words = maxtext_words(input.data);
  for (const ModelFlavor& row : words.models()) {
    if (!shipped.empty() && row.ours == shipped) {
      return row.flavor;
    }
  }
  refuse_model(config, input);
}

std::vector<Setting> maxtext_preset(const PrimusConfig& config, const ImportInput& input) {
  const Location where{input.file, 0, 0};
  std::vector<Setting> settings = {
      text_setting("model_name", maxtext_model_name(config, input), where)};
  append_preset(kMaxTextPreset, where, settings);
  return settings;
}

// --- Megatron Bridge ----------------------------------------------------------------------------

// Of the preset "recipe: llama.llama3, flavor: llama31_70b_finetune_config", which Bridge's
// releases since 2026 call by what is trained.
std::string bridge_name(std::string flavor, bool adapters) {
  constexpr std::string_view kTuned = "_finetune_config";
  if (flavor.ends_with(kTuned)) {
    flavor.resize(flavor.size() - kTuned.size());
    flavor += adapters ? "_peft_config" : "_sft_config";
  }
  return flavor;
}

MegatronSource bridge_source_of(const PrimusConfig& config, const ImportInput& input,
                                FrameworkReader& settings) {
  MegatronSource source;
  source.whole_file = {input.file, 0, 0};
  source.primus = true;
  source.bf16 = true;
  source.uneven_stages = true;
  source.grouped_by_switch = false;
  const std::string model =
      shipped_model(bridge_model(ascii::lower_case(config.model)), input.data);
  if (model.empty()) {  // its preset names a recipe, and no widths
    throw ConfigError({input.file, 0, 0},
                      "has the model '" + config.model.substr(0, 60) +
                          "', which is no shipped one; 'stepcast list models' shows them");
  }
  source.model = load_named_model(model, input.data, source.whole_file);
  source.model_is_named = true;
  const bool turbo = settings.flag("enable_primus_turbo", "software").value_or(true);
  source.software = turbo ? "primus_turbo" : "primus_legacy";
  source.gpus = cluster_gpus(input, {}, {}, {});
  return source;
}

// Keys of Primus' wrapper around the recipes.
constexpr std::string_view kOfBridgeWrapper =
    "recipe flavor hf_path dataset precision_config comm_overlap_config mock skip_save finetune_lr "
    "pipeline_dtype peft_lora_* use_hf_* packed_train*";

ImportedExperiment import_primus_torchtitan(const PrimusConfig& config, const ImportInput& input) {
  Diagnostics diagnostics;
  FrameworkReader settings(dotted(config.settings), diagnostics);
  settings.add_defaults(config.has_presets ? dotted(config.presets)
                                           : torchtitan_preset(config, input));
  remark_on_presets(config, settings);
  FrameworkExperiment parts = read_torchtitan(settings, {}, input);
  add_turbo(settings, parts);
  settings.without_effect(kOfPrimus);
  return assembled(settings, std::move(parts), input);
}

ImportedExperiment import_primus_maxtext(const PrimusConfig& config, const ImportInput& input) {
  std::vector<Setting> presets = config.presets;
  std::erase_if(presets, [](const Setting& setting) { return setting.name == "base_config"; });
  Diagnostics diagnostics;
  FrameworkReader settings(config.settings, diagnostics);
  settings.add_defaults(config.has_presets ? std::move(presets) : maxtext_preset(config, input));
  remark_on_presets(config, settings);
  FrameworkExperiment parts = read_maxtext(settings, input);
  ConfigWriter pool;
  pool.begin("memory");
  pool.field("pool_share", kMaxTextPool);
  pool.end();
  parts.software_changes = changed(std::move(parts.software_changes), pool.take());
  settings.without_effect(kOfPrimus);
  return assembled(settings, std::move(parts), input);
}

ImportedExperiment import_primus_bridge(const PrimusConfig& config, const ImportInput& input) {
  Diagnostics diagnostics;
  FrameworkReader settings(config.settings, diagnostics);
  settings.add_defaults(config.presets);
  const bool adapters = settings.text("peft", "training.lora").value_or("none") != "none";
  const std::string usual = config.model + (adapters ? "_peft_config" : "_sft_config");
  const std::string name = bridge_name(settings.text("flavor", "recipe").value_or(usual), adapters);
  if (std::optional<BridgeTableEntry> recipe = bridge_table_entry(name, input.data)) {
    settings.add_defaults(std::move(recipe->settings));
  } else {
    settings.assume("recipe", name, "is in no table of recipes");
  }
  settings.not_carried("packed_sequence", "several documents in a sequence");
  settings.without_effect(kOfBridgeWrapper);
  settings.without_effect(kOfPrimus);
  const MegatronSource source = bridge_source_of(config, input, settings);
  const std::optional<ConfigNode> lora =
      read_bridge_adapters(settings, adapters ? "peft" : "pretrain");
  FrameworkExperiment parts =
      read_megatron(settings, source, megatron_words(input.data), input.unknown);
  diagnostics.throw_if_any();
  add_adapters(lora, parts);
  return assembled(std::move(parts), input);
}

struct PrimusBackendRow {
  std::string_view framework;
  PrimusBackend import_from;
};
constexpr std::array kBackends = {PrimusBackendRow{"torchtitan", import_primus_torchtitan},
                                  PrimusBackendRow{"maxtext", import_primus_maxtext},
                                  PrimusBackendRow{"megatron_bridge", import_primus_bridge}};

}  // namespace

PrimusBackend primus_backend(std::string_view framework) {
  const PrimusBackendRow* const row = row_with(kBackends, &PrimusBackendRow::framework, framework);
  return row == nullptr ? nullptr : row->import_from;
}

}  // namespace stepcast
