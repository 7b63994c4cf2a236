// SPDX-License-Identifier: Apache-2.0
#include "frameworks/primus_import.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "frameworks/bridge_adapters.hpp"
#include "frameworks/job_size.hpp"
#include "frameworks/megatron_import.hpp"
#include "frameworks/shell_script.hpp"
#include "stepcast/base/ascii.hpp"
#include "stepcast/experiment/experiment.hpp"

namespace stepcast {
namespace {

constexpr int kDeepestExtends = 16;
constexpr std::size_t kLongestValue = 100'000;

class PrimusReader {
 public:
  explicit PrimusReader(const ImportInput& input)
      : input_(input), variables_(shell_assignments(input.overrides)) {}

  PrimusConfig config() {
    ConfigNode root = yaml_of(input_);
    expand(root);
    const ConfigNode* modules = root.find("modules");
    const ConfigNode* trainer = modules == nullptr ? nullptr : module_of(*modules);
    if (trainer == nullptr) {
      diagnostics_.error({input_.file, 0, 0},
                         "has no modules.pre_trainer; is it an experiment of Primus?");
      diagnostics_.throw_if_any();
    }
    PrimusConfig config;
    config.framework = text_of(*trainer, "framework", "megatron");
    config.module = stem(text_of(*trainer, "config", "pre_trainer"));
    config.model = stem(text_of(*trainer, "model", ""));
    config.settings = leaf_overrides(*trainer);
    if (!input_.overrides.empty()) {  // whose table is long
      for (Setting& setting : override_settings(input_.overrides, megatron_words(input_.data))) {
        config.settings.push_back(std::move(setting));
      }
    }
    read_presets(config);
    diagnostics_.throw_if_any();
    return config;
  }

 private:
  static const ConfigNode* module_of(const ConfigNode& modules) {
    for (const std::string_view name : {"pre_trainer", "post_trainer", "trainer"}) {
      if (const ConfigNode* module = modules.find(name)) {
        return module;
      }
    }
    return nullptr;
  }

  static std::string text_of(const ConfigNode& mapping, std::string_view key,
                             const std::string& fallback) {
    const ConfigNode* value = mapping.find(key);
    return value == nullptr || value->kind != ConfigNode::Kind::kScalar ? fallback : value->text;
  }

  static std::string stem(const std::string& name) {
    return name.ends_with(".yaml") ? name.substr(0, name.size() - 5) : name;
  }

  // Lists and scalars of the overrides; what lies deeper (torch_compile.enable) under its group.
  static std::vector<Setting> leaf_overrides(const ConfigNode& trainer) {
    std::vector<Setting> settings;
    if (const ConfigNode* written = trainer.find("overrides")) {
      for (const ConfigEntry& entry : written->entries) {
        settings.push_back({entry.key, entry.value});
      }
    }
    return settings;
  }

  // --- ${VAR:default} ---------------------------------------------------------------------------

  void expand(ConfigNode& node) {
    if (node.kind == ConfigNode::Kind::kScalar) {
      if (node.text.find("${") != std::string::npos) {
        node.text = expanded(node);
        node.quoted = false;
      }
      return;
    }
    for (ConfigNode& item : node.items) {
      expand(item);
    }
    for (ConfigEntry& entry : node.entries) {
      expand(entry.value);
    }
  }

  std::string expanded(const ConfigNode& node) {
    std::string text;
    std::string_view rest = node.text;
    while (!rest.empty()) {
      const std::size_t begin = rest.find("${");
      const std::size_t end = begin == std::string_view::npos ? begin : rest.find('}', begin);
      if (end == std::string_view::npos) {
        break;
      }
      text += rest.substr(0, begin);
      text += variable(rest.substr(begin + 2, end - begin - 2), node);
      rest.remove_prefix(end + 1);
      if (text.size() > kLongestValue) {
        diagnostics_.error(node.location(), "expands to more than 100,000 characters");
        return {};
      }
    }
    return text + std::string(rest);
  }

  std::string variable(std::string_view written, const ConfigNode& node) {
    const std::size_t colon = written.find(':');
    const std::string name(written.substr(0, colon));
    if (const auto given = variables_.find(name); given != variables_.end()) {
      return given->second;
    }
    if (colon == std::string_view::npos) {
      diagnostics_.error(node.location(), "needs the variable " + name.substr(0, 60) + "; give " +
                                              name.substr(0, 60) + "=value behind the file");
      return {};
    }
    const std::string_view fallback = written.substr(colon + 1);
    return std::string(fallback.starts_with('-') ? fallback.substr(1) : fallback);
  }

  // --- presets ----------------------------------------------------------------------------------

  // The folder primus/configs in the file's folder or above it; empty if there is none.
  [[nodiscard]] std::filesystem::path presets_folder() const {
    if (input_.folder.empty()) {
      return {};
    }
    std::error_code error;
    std::filesystem::path folder = std::filesystem::absolute(input_.folder, error);
    for (int up = 0; up < 32; ++up) {
      std::filesystem::path configs = folder / "primus" / "configs";
      if (std::filesystem::is_directory(configs, error)) {
        return configs;
      }
      folder = folder.parent_path();
    }
    return {};
  }

  void read_presets(PrimusConfig& config) {
    const std::filesystem::path folder = presets_folder();
    const std::filesystem::path models = folder / "models" / config.framework;
    const std::filesystem::path modules = folder / "modules" / config.framework;
    const std::string module = config.module + ".yaml";
    std::error_code error;
    if (folder.empty() || !std::filesystem::exists(models / (config.model + ".yaml"), error)) {
      return;
    }
    config.has_presets = true;
    std::map<std::string, ConfigNode> all;
    if (std::filesystem::exists(modules / module, error)) {
      collect(modules / module, 0, all);
    }
    collect(models / (config.model + ".yaml"), 0, all);
    for (auto& [name, value] : all) {
      config.presets.push_back({name, std::move(value)});
    }
  }

  // A list of names, or one by itself.
  static std::vector<ConfigNode> bases_of(const ConfigNode& root, std::string_view word) {
    const ConfigNode* const named = root.find(word);
    if (named == nullptr) {
      return {};
    }
    return named->kind == ConfigNode::Kind::kScalar ? std::vector<ConfigNode>{*named}
                                                    : named->items;
  }

  // What a preset extends, in order, and then its own keys in their place.
  void collect(const std::filesystem::path& file, int depth,
               std::map<std::string, ConfigNode>& all) {
    if (depth > kDeepestExtends) {
      diagnostics_.error({file.string(), 0, 0}, "extends itself, or more than 16 files deep");
      return;
    }
    ConfigNode root = load_config(file);
    expand(root);
    // Presets name what they build upon by either word.
    for (const std::string_view word : {"bases", "extends"}) {
      for (const ConfigNode& base : bases_of(root, word)) {
        collect(file.parent_path() / (stem(base.text) + ".yaml"), depth + 1, all);
      }
    }
    for (ConfigEntry& entry : root.entries) {
      if (entry.key != "extends" && entry.key != "bases" && entry.key != "includes") {
        all[entry.key] = std::move(entry.value);
      }
    }
  }

  const ImportInput& input_;
  std::map<std::string, std::string> variables_;
  Diagnostics diagnostics_;
};

void collect_leaves(const std::string& name, const ConfigNode& value, std::vector<Setting>& all) {
  if (value.kind != ConfigNode::Kind::kMapping) {
    all.push_back({name, value});
    return;
  }
  for (const ConfigEntry& entry : value.entries) {
    collect_leaves(name + "." + entry.key, entry.value, all);
  }
}

// What Primus' presets set where a file says nothing: configs/modules/megatron/trainer_base.yaml
// and pre_trainer.yaml, configs/models/megatron/language_model.yaml at fd1eeabb. Used where the
// presets themselves are not beside the file.
constexpr std::array kModulePreset = {
    PresetValue{"micro_batch_size", "2"},
    PresetValue{"global_batch_size", "16"},
    PresetValue{"seq_length", "1024"},
    PresetValue{"bf16", "true"},
    PresetValue{"optimizer", "adam"},
    PresetValue{"use_distributed_optimizer", "true"},
    PresetValue{"muon_tp_mode", "blockwise"},
    PresetValue{"overlap_grad_reduce", "false"},
    PresetValue{"overlap_param_gather", "false"},
    PresetValue{"data_parallel_sharding_strategy", "no_shard"},
    PresetValue{"fp8_recipe", "delayed"},
    PresetValue{"sequence_parallel", "true"},
    PresetValue{"gradient_accumulation_fusion", "true"},
    PresetValue{"cross_entropy_loss_fusion", "false"},
    PresetValue{"enable_primus_turbo", "false"},
    PresetValue{"hidden_dropout", "0.0"},  // of llama_base.yaml, which every model extends
    PresetValue{"attention_dropout", "0.0"},
};
// modules/megatron/sft_trainer.yaml, where it differs.
constexpr std::string_view kTuningModule = "sft_trainer";
constexpr std::array kTuningPreset = {
    PresetValue{"micro_batch_size", "1"},
    PresetValue{"global_batch_size", "128"},
    PresetValue{"seq_length", "2048"},
};
// Of models with experts.
constexpr std::array kExpertPreset = {
    PresetValue{"moe_token_dispatcher_type", "alltoall"},
    PresetValue{"moe_grouped_gemm", "true"},
};

// What the preset of a model says of the run, beside the shape.
struct ModelPreset {
  std::string_view start;  // of the preset's name
  std::int64_t ep = 1;
  bool permute_fusion = false;
  bool shared_overlap = false;
};
constexpr std::array kModelPresets = {
    ModelPreset{"deepseek_v2", 8, true, true}, ModelPreset{"deepseek_v3", 8, true, true},
    ModelPreset{"gpt_oss", 8, true, true},     ModelPreset{"kimi_k2", 8, true, true},
    ModelPreset{"glm", 8, true, true},         ModelPreset{"llama4", 8, true, true},
    ModelPreset{"qwen3", 1, true, false},      ModelPreset{"qwen2.5", 1, true, false},
};

// With its adapters' keys one by one.
std::vector<Setting> with_leaves(const std::vector<Setting>& settings) {
  constexpr std::string_view kAdapters = "lora";
  std::vector<Setting> all;
  for (const Setting& setting : settings) {
    const std::vector<Setting> parts =
        setting.name == kAdapters ? dotted_settings(setting) : std::vector<Setting>{setting};
    all.insert(all.end(), parts.begin(), parts.end());
  }
  return all;
}

std::vector<Setting> preset_settings(const PrimusConfig& config, bool experts,
                                     const Location& where) {
  std::vector<Setting> settings;
  if (config.module == kTuningModule) {
    append_preset(kTuningPreset, where, settings);
  }
  append_preset(kModulePreset, where, settings);  // of a field that stands twice, the first counts
  if (!experts) {
    return settings;
  }
  append_preset(kExpertPreset, where, settings);
  const std::string& model = config.model;
  const auto* const known =
      std::find_if(kModelPresets.begin(), kModelPresets.end(),
                   [&](const ModelPreset& preset) { return model.starts_with(preset.start); });
  const ModelPreset preset = known == kModelPresets.end() ? ModelPreset{} : *known;
  const std::string ep = std::to_string(preset.ep);
  const auto word = [](bool on) { return on ? "true" : "false"; };
  const std::array run = {PresetValue{"expert_model_parallel_size", ep},
                          PresetValue{"moe_permute_fusion", word(preset.permute_fusion)},
                          PresetValue{"moe_shared_expert_overlap", word(preset.shared_overlap)}};
  append_preset(run, where, settings);
  return settings;
}

ImportedExperiment handed_over(const PrimusConfig& config, const ImportInput& input) {
  if (const PrimusBackend backend = primus_backend(config.framework)) {
    return backend(config, input);
  }
  throw ConfigError({input.file, 0, 0},
                    "runs the framework '" + config.framework.substr(0, 60) +
                        "' under Primus; megatron, torchtitan, maxtext and megatron_bridge can be "
                        "imported");
}

void refuse_diffusion(const PrimusConfig& config, const ImportInput& input) {
  const auto says_so = [](const Setting& setting) {
    return setting.name == "model_type" &&
           (setting.value.text.starts_with("diffusion") || setting.value.text.starts_with("flux"));
  };
  if (std::any_of(config.settings.begin(), config.settings.end(), says_so) ||
      std::any_of(config.presets.begin(), config.presets.end(), says_so)) {
    throw ConfigError({input.file, 0, 0},
                      "trains a model of images by diffusion, which no model here is");
  }
}

void name_model(const PrimusConfig& config, const ImportInput& input, MegatronSource& source) {
  const std::string shipped = shipped_model(config.model, input.data);
  if (config.has_presets) {
    source.model.name = shipped.empty() ? config.model : shipped;
    return;
  }
  const bool written_out =
      std::any_of(config.settings.begin(), config.settings.end(),
                  [](const Setting& setting) { return setting.name == "num_attention_heads"; });
  if (shipped.empty() && !written_out) {
    throw ConfigError({input.file, 0, 0},
                      "has the model '" + config.model.substr(0, 60) +
                          "', which is no shipped one, and no folder primus/configs beside or "
                          "above the file has its preset");
  }
  if (!shipped.empty()) {
    source.model = load_named_model(shipped, input.data, {});
    source.model_is_named = true;
  }
}

}  // namespace

std::string shipped_model(const std::string& name, const DataRoot& data) {
  std::string wanted = ascii::lower_case(name);
  constexpr std::string_view kRelease = "_v0.1";
  if (wanted.ends_with(kRelease)) {
    wanted.resize(wanted.size() - kRelease.size());
  }
  const bool plain = !wanted.empty() && wanted.find('/') == std::string::npos;
  std::error_code error;
  return plain && std::filesystem::is_regular_file(data.models() / (wanted + ".yaml"), error)
             ? wanted
             : std::string{};
}

ImportedExperiment import_primus(const ImportInput& input) {
  PrimusConfig config = read_primus_config(input);
  if (config.framework != "megatron") {
    return handed_over(config, input);
  }
  refuse_diffusion(config, input);
  MegatronSource source;
  source.model = megatron_default_model();
  source.whole_file = {input.file, 0, 0};
  source.primus = true;
  source.uneven_stages = true;
  source.shipped = input.data;
  name_model(config, input, source);
  Diagnostics diagnostics;
  FrameworkReader settings(with_leaves(config.settings), diagnostics);
  if (config.has_presets) {
    settings.add_defaults(with_leaves(config.presets));
  } else {
    settings.add_defaults(preset_settings(config, source.model.moe.has_value(), source.whole_file));
    settings.assume("presets", config.model,
                    "Primus' own are not beside the file: the shipped model's shape, and the "
                    "defaults of fd1eeabb");
  }
  const bool turbo = settings.is_on("enable_primus_turbo", "software");
  source.software = turbo ? "primus_turbo" : "primus_legacy";
  source.gpu = settings.text("gpu", "cluster.gpu").value_or("");
  const auto nodes = settings.count("nnodes", "cluster.nodes");
  const auto per_node = settings.count("nproc_per_node", "cluster.gpus_per_node");
  source.gpus = cluster_gpus(input, nodes, per_node, source.gpu);
  source.gpus_per_node = per_node;
  const std::optional<ConfigNode> lora = read_primus_adapters(settings);
  FrameworkExperiment parts =
      read_megatron(settings, source, megatron_words(input.data), input.unknown);
  diagnostics.throw_if_any();
  add_adapters(lora, parts);
  return assembled(std::move(parts), input);
}

void append_preset(std::span<const PresetValue> preset, const Location& where,
                   std::vector<Setting>& settings) {
  for (const PresetValue& row : preset) {
    settings.push_back(text_setting(std::string(row.name), std::string(row.value), where));
  }
}

std::vector<Setting> dotted_settings(const Setting& setting) {
  std::vector<Setting> all;
  collect_leaves(setting.name, setting.value, all);
  return all;
}

PrimusConfig read_primus_config(const ImportInput& input) { return PrimusReader(input).config(); }

}  // namespace stepcast
