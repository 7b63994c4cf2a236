// SPDX-License-Identifier: Apache-2.0
#include "frameworks/trainer_adapters.hpp"

#include <algorithm>
#include <array>

#include "frameworks/imported_experiment.hpp"
#include "frameworks/trainer_files.hpp"
#include "frameworks/words.hpp"
#include "stepcast/config/config_yaml.hpp"
#include "stepcast/config/json_node.hpp"
#include "stepcast/model/trained_weights.hpp"

namespace stepcast {
namespace {

constexpr auto kPeftModules = std::to_array<Word>({
    {"q_proj", "q"},
    {"k_proj", "k"},
    {"v_proj", "v"},
    {"o_proj", "o"},
    {"gate_proj", "gate"},
    {"up_proj", "up"},
    {"down_proj", "down"},
    {"qkv_proj", "qkv"},
    {"query_key_value", "qkv"},
    {"gate_up_proj", "gate_up"},
    // GPT-2 and StarCoder, MPT and DBRX, InternLM2, Falcon, BLOOM and GPT-NeoX, GPT-J, Phi and OPT.
    // c_proj of the first is two modules at once.
    {"c_attn", "qkv"},
    {"c_fc", "up"},
    {"Wqkv", "qkv"},
    {"wqkv", "qkv"},
    {"wo", "o"},
    {"w1", "gate"},
    {"w3", "up"},
    {"w2", "down"},
    {"dense", "o"},
    {"dense_h_to_4h", "up"},
    {"dense_4h_to_h", "down"},
    {"fc_in", "up"},
    {"fc_out", "down"},
    {"fc1", "up"},
    {"fc2", "down"},
    {"out_proj", "o"},
});
constexpr std::string_view kAllLinear = "q_proj k_proj v_proj o_proj gate_proj up_proj down_proj";
// PEFT's own where nothing is named, of Llama, Mistral, Qwen 2 and 3 and Gemma.
constexpr std::string_view kUsualModules = "q_proj v_proj";

// Modules that are trained whole, as the part of the model that they are.
constexpr auto kSavedModules = std::to_array<Word>({
    {"embed_tokens", "embedding"},
    {"wte", "embedding"},
    {"lm_head", "head"},
    {"embed_out", "head"},
    {"norm", "norms"},
    {"input_layernorm", "norms"},
    {"post_attention_layernorm", "norms"},
});

// Of adapter_config.json.
constexpr PeftKeys kPeftKeys = {"adapter.r", "adapter.target_modules", "adapter.lora_dropout",
                                "adapter.modules_to_save", 8};

constexpr auto kPeftUnpriced = std::to_array<UnpricedKey>({
    {"adapter.use_dora", "weights are split into length and direction, which is more work"},
    {"adapter.bias", "biases are trained beside adapters", "none"},
    {"adapter.rank_pattern", "other ranks for some modules", "{}"},
    {"adapter.layers_to_transform", "adapters in some layers alone", ""},
    {"adapter.layer_replication", "layers that share their weights", ""},
    {"adapter.exclude_modules", "modules without adapters", ""},
    {"adapter.target_parameters", "adapters beside parameters that are no linear layer", ""},
    {"adapter.use_qalora", "adapters of quantised groups"},
    {"adapter.trainable_token_indices", "rows of the embedding that are trained", ""},
    {"adapter.megatron_config", "adapters of Megatron", ""},
    {"adapter.use_bdlora", "adapters of blocks", ""},
});
constexpr std::string_view kPeftWithoutEffect =
    "adapter.lora_alpha adapter.use_rslora adapter.init_lora_weights adapter.task_type "
    "adapter.base_model_name_or_path adapter.inference_mode adapter.revision adapter.auto_mapping "
    "adapter.fan_in_fan_out adapter.alpha_pattern adapter.lora_bias adapter.layers_pattern "
    "adapter.loftq_config* adapter.eva_config* adapter.corda_config* adapter.megatron_core "
    "adapter.peft_version adapter.runtime_config* adapter.ensure_weight_tying adapter.peft_type "
    "adapter.arrow_config* adapter.alora_invocation_tokens adapter.qalora_group_size "
    "adapter.lora_ga_config*";

// "q_proj" of "self_attn.q_proj"; a pattern is none.
std::optional<std::string> module_named(const std::string& target) {
  const bool pattern = target.find_first_of("*()|\\^$[]?+") != std::string::npos;
  const std::size_t dot = target.rfind('.');
  return pattern ? std::nullopt
                 : std::optional(dot == std::string::npos ? target : target.substr(dot + 1));
}

class PeftWriter {
 public:
  PeftWriter(const PeftAdapters& adapters, FrameworkReader& settings)
      : adapters_(adapters), settings_(settings) {}

  void write(ConfigWriter& training) {
    const std::vector<std::string> targets = our_targets();
    training.begin("lora");
    training.field("rank", adapters_.rank.value_or(1));
    training.field("targets", list_node(targets));
    if (adapters_.dropout > 0.0) {
      training.field("dropout", true);
    }
    if (adapters_.base != BaseWeights::kAsOthers) {
      training.field("base_weights", name(adapters_.base));
    }
    training.end();
    write_frozen(training);
  }

 private:
  std::vector<std::string> named_targets() {
    std::vector<std::string> all;
    for (const std::string& target : adapters_.targets) {
      if (target == "all-linear" || target == "all") {
        const std::vector<std::string_view> every = names_in(kAllLinear);
        all.insert(all.end(), every.begin(), every.end());
      } else {
        all.push_back(target);
      }
    }
    if (all.empty()) {
      const std::vector<std::string_view> usual = names_in(kUsualModules);
      all.assign(usual.begin(), usual.end());
      settings_.remark({ImportOutcome::kDefaulted,
                        adapters_.targets_key,
                        "q_proj v_proj",
                        "training.lora.targets",
                        "PEFT's own for most models",
                        {}});
    }
    return all;
  }

  // Each once, in the order of our enumeration.
  std::vector<std::string> our_targets() {
    std::vector<std::string> found;
    for (const std::string& target : named_targets()) {
      const std::optional<std::string> module = module_named(target);
      const std::string_view ours = module ? ours_of(kPeftModules, *module) : std::string_view{};
      if (!ours.empty()) {
        found.emplace_back(ours);
      } else if (module) {
        settings_.leave_out(adapters_.targets_key, target.substr(0, 60),
                            "a module without an adapter here");
      } else {
        settings_.error(adapters_.targets_key,
                        "is the pattern '" + target.substr(0, 60) +
                            "', which is not followed; give the modules by name, q_proj,v_proj");
      }
    }
    std::vector<std::string> ordered;
    for (const std::string_view name : kNamesOf<LoraTarget>) {
      if (std::find(found.begin(), found.end(), name) != found.end()) {
        ordered.emplace_back(name);
      }
    }
    if (ordered.empty() && settings_.diagnostics().entries().empty()) {
      settings_.error(adapters_.targets_key, "names no module that can have an adapter here");
    }
    return ordered;
  }

  void write_frozen(ConfigWriter& training) {
    std::vector<std::string> trained;
    for (const std::string& module : adapters_.saved) {
      const std::string_view part = ours_of(kSavedModules, module_named(module).value_or(module));
      if (part.empty()) {
        settings_.leave_out(adapters_.saved_key, module.substr(0, 60),
                            "trained whole beside adapters; here it is frozen");
      } else {
        trained.emplace_back(part);
      }
    }
    if (trained.empty()) {
      return;
    }
    std::vector<std::string> frozen;
    for (const std::string_view part : kNamesOf<ParameterRole>) {
      if (std::find(trained.begin(), trained.end(), part) == trained.end()) {
        frozen.emplace_back(part);
      }
    }
    training.field("frozen", list_node(frozen));
  }

  const PeftAdapters& adapters_;
  FrameworkReader& settings_;
};

}  // namespace

PeftAdapters read_adapter_keys(FrameworkReader& settings, const PeftKeys& keys) {
  PeftAdapters adapters;
  adapters.rank_key = std::string(keys.rank);
  adapters.targets_key = std::string(keys.targets);
  adapters.saved_key = std::string(keys.saved);
  constexpr std::string_view kRank = "training.lora.rank";
  adapters.rank =
      settings.has(keys.rank) || keys.usual_rank
          ? std::optional(positive_or(settings, keys.rank, kRank, keys.usual_rank.value_or(1)))
          : std::nullopt;
  if (!adapters.rank) {
    settings.error(keys.rank,
                   "is needed for adapters; give " + std::string(keys.rank) + "=8 behind the file");
  }
  adapters.targets =
      settings.texts(keys.targets, "training.lora.targets").value_or(std::vector<std::string>{});
  adapters.dropout = settings.share(keys.dropout, "training.lora.dropout").value_or(0.0);
  adapters.saved =
      settings.texts(keys.saved, "training.frozen").value_or(std::vector<std::string>{});
  return adapters;
}

std::optional<PeftAdapters> read_peft_adapters(FrameworkReader& settings) {
  const std::string type = settings.text("adapter.peft_type", "training.lora").value_or("LORA");
  const bool present = settings.has("adapter.peft_type") || settings.has(kPeftKeys.rank) ||
                       settings.has(kPeftKeys.targets);
  if (!present) {
    return std::nullopt;
  }
  if (type != "LORA") {
    settings.error("adapter.peft_type",
                   "is '" + type.substr(0, 60) + "'; of PEFT's adapters LORA alone is priced");
  }
  PeftAdapters adapters = read_adapter_keys(settings, kPeftKeys);
  settings.not_carried(kPeftUnpriced);
  settings.without_effect(kPeftWithoutEffect);
  return adapters;
}

void write_adapters(const PeftAdapters& adapters, FrameworkReader& settings,
                    ConfigWriter& training) {
  PeftWriter(adapters, settings).write(training);
}

bool is_adapter_config(std::string_view json_text) {
  return json_text.find("\"peft_type\"") != std::string_view::npos;
}

std::string imported_adapters(std::string_view json_text, const std::string& file_name) {
  Diagnostics diagnostics;
  const std::optional<ConfigNode> root = parse_json_object(json_text, {file_name}, diagnostics);
  diagnostics.throw_if_any();
  FrameworkReader settings(top_settings(*root, kAdapterPrefix), diagnostics);
  const std::optional<PeftAdapters> adapters = read_peft_adapters(settings);
  ConfigWriter writer;
  writer.begin("training");
  if (adapters) {
    write_adapters(*adapters, settings, writer);
  }
  writer.end();
  settings.finish(UnknownSettings::kRefused);
  diagnostics.throw_if_any();
  const ImportedExperiment imported{writer.take(), settings.take_remarks()};
  return to_yaml(imported, file_name);
}

}  // namespace stepcast
