// SPDX-License-Identifier: Apache-2.0
#include "frameworks/trainer_files.hpp"

#include <algorithm>
#include <array>

#include "frameworks/text_form.hpp"
#include "frameworks/trainer_adapters.hpp"
#include "frameworks/trainer_shipped.hpp"
#include "frameworks/trainer_words.hpp"
#include "frameworks/words.hpp"
#include "stepcast/base/ascii.hpp"
#include "stepcast/base/text_list.hpp"

namespace stepcast {
namespace {

// How accelerate's keys and its launcher's options are called here. A name that ends in '.' or '_'
// stands for all that begin so.
constexpr auto kRenamedKeys = std::to_array<Word>({
    {"accelerate.fsdp_config.fsdp_", "fsdp_config."},
    {"accelerate.fsdp_config.", "fsdp_config."},
    {"fsdp_config.fsdp_", "fsdp_config."},
    {"accelerate.fsdp_", "fsdp_config."},
    {"accelerate.deepspeed_config.zero_stage", "deepspeed.zero_optimization.stage"},
    {"accelerate.zero_stage", "deepspeed.zero_optimization.stage"},
    {"accelerate.deepspeed_config.offload_optimizer_device",
     "deepspeed.zero_optimization.offload_optimizer.device"},
    {"accelerate.offload_optimizer_device", "deepspeed.zero_optimization.offload_optimizer.device"},
    {"accelerate.deepspeed_config.offload_param_device",
     "deepspeed.zero_optimization.offload_param.device"},
    {"accelerate.offload_param_device", "deepspeed.zero_optimization.offload_param.device"},
    {"accelerate.deepspeed_config.gradient_accumulation_steps",
     "deepspeed.gradient_accumulation_steps"},
    {"accelerate.deepspeed_config.gradient_clipping", "deepspeed.gradient_clipping"},
    {"accelerate.gradient_accumulation_steps", "deepspeed.gradient_accumulation_steps"},
    {"accelerate.gradient_clipping", "deepspeed.gradient_clipping"},
    {"accelerate.deepspeed_config_file", "accelerate.deepspeed_config.deepspeed_config_file"},
    {"accelerate.parallelism_config.parallelism_config_", "parallelism_config."},
    {"accelerate.parallelism_config.", "parallelism_config."},
    {"accelerate.parallelism_config_", "parallelism_config."},
});

void rename_key(Setting& setting) {
  const auto* const found =
      std::find_if(kRenamedKeys.begin(), kRenamedKeys.end(), [&](const Word& row) {
        const bool begins = row.theirs.ends_with('.') || row.theirs.ends_with('_');
        return begins ? setting.name.starts_with(row.theirs) : setting.name == row.theirs;
      });
  if (found != kRenamedKeys.end()) {
    setting.name = std::string(found->ours) + setting.name.substr(found->theirs.size());
  }
}

// Keys at the top of a file of which it is enough that one is there.
struct TopKeys {
  TrainerFormat format;
  std::string_view keys;
};
// In this order: axolotl and LLaMA-Factory have Trainer's keys as well.
constexpr auto kTopKeys = std::to_array<TopKeys>({
    {TrainerFormat::kAdapterJson, "peft_type"},
    {TrainerFormat::kAccelerateYaml, "distributed_type compute_environment"},
    {TrainerFormat::kDeepSpeedJson,
     "zero_optimization train_micro_batch_size_per_gpu zero_allow_untested_optimizer"},
    {TrainerFormat::kAxolotl, "base_model sequence_len sample_packing"},
    {TrainerFormat::kLlamaFactory, "finetuning_type cutoff_len stage dataset_dir"},
    {TrainerFormat::kArguments,
     "model_name_or_path per_device_train_batch_size gradient_accumulation_steps output_dir "
     "learning_rate dataset_name max_seq_length max_length use_peft"},
});

TrainerFormat format_of(const ConfigNode& root) {
  for (const TopKeys& row : kTopKeys) {
    for (const std::string_view key : names_in(row.keys)) {
      if (root.find(key) != nullptr) {
        return row.format;
      }
    }
  }
  return TrainerFormat::kUnknown;
}

// What a text is, by its form and, of data, the keys at its top.
TrainerFormat format_of(TextForm form, const ConfigNode* data) {
  switch (form) {
    case TextForm::kPython:
      return TrainerFormat::kPython;
    case TextForm::kShell:
      return TrainerFormat::kShell;
    case TextForm::kJson:
    case TextForm::kYaml:
    case TextForm::kToml:
      return data == nullptr ? TrainerFormat::kUnknown : format_of(*data);
  }
  return TrainerFormat::kUnknown;
}

// "500_000" as YAML 1.1 and Python have it.
ConfigNode without_groups(ConfigNode value) {
  const bool grouped = !value.quoted && value.text.size() > 1 && ascii::is_digit(value.text[0]) &&
                       value.text.find_first_not_of("0123456789_") == std::string::npos;
  if (grouped) {
    std::erase(value.text, '_');
  }
  return value;
}

void add_nodes(const ConfigNode& node, const std::string& name, std::vector<Setting>& all) {
  if (node.kind == ConfigNode::Kind::kMapping) {
    for (const ConfigEntry& entry : node.entries) {
      add_nodes(entry.value, name.empty() ? entry.key : name + "." + entry.key, all);
    }
  } else {
    all.push_back({name, without_groups(node)});
  }
}

// Names that are accelerate's or DeepSpeed's wherever they stand on a command line.
std::string routed(const std::string& name) {
  const std::string first = name.substr(0, name.find('.'));
  const bool dotted = first.size() < name.size();
  if (is_among(dotted ? kDeepSpeedSections : kDeepSpeedNames, first)) {
    return "deepspeed." + name;
  }
  if (is_among(kAccelerateNames, first)) {
    return "accelerate." + name;
  }
  return name;
}

// The files that KEY=VALUE names: arguments=sft.yaml, adapter_config=adapter_config.json. A file
// that is not there is an error.
void add_given_files(const ImportInput& input, std::vector<Setting>& given, TrainerFile& file) {
  for (const Setting& setting : given) {
    if (setting.name == "arguments" || setting.name == "adapter_config") {
      const std::optional<std::string> text = text_near(input, setting.value.text);
      if (!text) {
        throw ConfigError(setting.value.location(), "there is no file '" +
                                                        setting.value.text.substr(0, 100) +
                                                        "' beside the one that is imported");
      }
      add_trainer_text(*text, setting.value.text, file);
    }
  }
  std::erase_if(given, [](const Setting& setting) {
    return setting.name == "arguments" || setting.name == "adapter_config";
  });
}

// The door of a format that has one alone; empty for the others.
std::string_view door_of(TrainerFormat format) {
  switch (format) {
    case TrainerFormat::kDeepSpeedJson:
      return name_of(TrainerDoor::kDeepSpeed);
    case TrainerFormat::kAccelerateYaml:
      return name_of(TrainerDoor::kAccelerate);
    case TrainerFormat::kAxolotl:
      return name_of(TrainerDoor::kAxolotl);
    case TrainerFormat::kLlamaFactory:
      return name_of(TrainerDoor::kLlamaFactory);
    case TrainerFormat::kArguments:
      return name_of(TrainerDoor::kTrl);
    default:
      return {};
  }
}

std::string_view usual_keys(TrainerDoor door) {
  constexpr std::array<std::string_view, 5> kKeys = {"zero_optimization", "distributed_type",
                                                     "base_model", "finetuning_type",
                                                     "model_name_or_path"};
  return kKeys.at(static_cast<std::size_t>(door));
}

bool fits(TrainerDoor door, TrainerFormat format) {
  switch (format) {
    case TrainerFormat::kDeepSpeedJson:
      return door == TrainerDoor::kDeepSpeed;
    case TrainerFormat::kAccelerateYaml:
      return door == TrainerDoor::kAccelerate;
    case TrainerFormat::kAxolotl:
      return door == TrainerDoor::kAxolotl;
    case TrainerFormat::kLlamaFactory:
      return door == TrainerDoor::kLlamaFactory;
    case TrainerFormat::kArguments:
      return door != TrainerDoor::kAxolotl;
    case TrainerFormat::kShell:
    case TrainerFormat::kPython:
      return true;
    case TrainerFormat::kAdapterJson:
    case TrainerFormat::kUnknown:
      return false;
  }
  return false;
}

void refuse(const ImportInput& input, TrainerDoor door, TrainerFormat format) {
  const std::string file = input.file.substr(0, 100);
  const std::string_view right = door_of(format);
  if (format == TrainerFormat::kAdapterJson) {
    throw ConfigError({input.file, 0, 0},
                      "describes adapters alone; give it as adapter_config=" + file +
                          " behind the file of the run, or to 'stepcast import hf'");
  }
  if (!right.empty()) {
    throw ConfigError({input.file, 0, 0}, "is a file of another door: stepcast import " +
                                              std::string(right) + " " + file);
  }
  throw ConfigError({input.file, 0, 0}, "has no key by which a file of " +
                                            std::string(name_of(door)) + " is known, such as " +
                                            std::string(usual_keys(door)));
}

TrainerTool tool_of(TrainerDoor door) {
  switch (door) {
    case TrainerDoor::kAxolotl:
      return TrainerTool::kAxolotl;
    case TrainerDoor::kLlamaFactory:
      return TrainerTool::kLlamaFactory;
    case TrainerDoor::kTrl:
      return TrainerTool::kTrl;
    case TrainerDoor::kDeepSpeed:
    case TrainerDoor::kAccelerate:
      break;
  }
  return TrainerTool::kPlain;
}

// The settings of one file of data, whatever of them it is.
void add_data(const ConfigNode& root, TrainerFile& file) {
  std::string_view prefix;
  std::vector<Setting> settings;
  switch (format_of(root)) {
    case TrainerFormat::kAdapterJson:
      settings = top_settings(root, kAdapterPrefix);
      break;
    case TrainerFormat::kDeepSpeedJson:
      prefix = "deepspeed.";
      break;
    case TrainerFormat::kAccelerateYaml:
      prefix = "accelerate.";
      break;
    case TrainerFormat::kAxolotl:
      file.tool = TrainerTool::kAxolotl;
      break;
    case TrainerFormat::kLlamaFactory:
      file.tool = TrainerTool::kLlamaFactory;
      break;
    default:
      break;
  }
  settings = settings.empty() ? flat_settings(root, prefix) : std::move(settings);
  for (Setting& setting : settings) {
    file.settings.push_back(std::move(setting));
  }
}

}  // namespace

std::string_view name_of(TrainerDoor door) {
  constexpr std::array<std::string_view, 5> kNames = {"deepspeed", "accelerate", "axolotl",
                                                      "llamafactory", "trl"};
  return kNames.at(static_cast<std::size_t>(door));
}

std::optional<TrainerDoor> trainer_door(const ReadText& read) {
  const auto has = [&read](std::string_view word) {
    return read.text.find(word) != std::string::npos;
  };
  switch (format_of(read.form, read.document ? &*read.document : nullptr)) {
    case TrainerFormat::kDeepSpeedJson:
      return TrainerDoor::kDeepSpeed;
    case TrainerFormat::kAccelerateYaml:
      return TrainerDoor::kAccelerate;
    case TrainerFormat::kAxolotl:
      return TrainerDoor::kAxolotl;
    case TrainerFormat::kLlamaFactory:
      return TrainerDoor::kLlamaFactory;
    case TrainerFormat::kArguments:
      return TrainerDoor::kTrl;
    case TrainerFormat::kPython:
      return has("SFTConfig(") || has("SFTTrainer(") ? std::optional(TrainerDoor::kTrl)
             : has("TrainingArguments(")             ? std::optional(TrainerDoor::kAccelerate)
                                                     : std::nullopt;
    case TrainerFormat::kShell:
      return has("llamafactory-cli train")         ? std::optional(TrainerDoor::kLlamaFactory)
             : has("axolotl")                      ? std::optional(TrainerDoor::kAxolotl)
             : has("trl sft")                      ? std::optional(TrainerDoor::kTrl)
             : !has("per_device_train_batch_size") ? std::nullopt
             : has("deepspeed")                    ? std::optional(TrainerDoor::kDeepSpeed)
                                                   : std::optional(TrainerDoor::kAccelerate);
    default:
      return std::nullopt;
  }
}

std::vector<Setting> flat_settings(const ConfigNode& mapping, std::string_view prefix) {
  std::vector<Setting> settings;
  add_nodes(mapping, {}, settings);
  std::erase_if(settings, [](const Setting& setting) { return setting.name.empty(); });
  for (Setting& setting : settings) {
    setting.name = std::string(prefix) + setting.name;
    rename_key(setting);
  }
  return settings;
}

std::vector<Setting> top_settings(const ConfigNode& mapping, std::string_view prefix) {
  std::vector<Setting> settings;
  for (const ConfigEntry& entry : mapping.entries) {
    const ConfigNode& value = entry.value;
    const bool empty =
        value.kind != ConfigNode::Kind::kScalar && value.items.empty() && value.entries.empty();
    if (!empty) {
      settings.push_back({std::string(prefix) + entry.key, value});
    }
  }
  return settings;
}

std::optional<std::string> text_near(const ImportInput& input, const std::string& name) {
  constexpr int kFoldersUp = 6;
  const std::filesystem::path wanted = std::filesystem::path(name).lexically_normal();
  if (input.folder.empty() || name.empty()) {
    return std::nullopt;
  }
  std::error_code error;
  std::filesystem::path folder = std::filesystem::absolute(input.folder, error);
  const bool inside = wanted.is_relative() && *wanted.begin() != "..";
  for (int up = 0; inside && up <= kFoldersUp && !folder.empty(); ++up) {
    if (std::filesystem::is_regular_file(folder / wanted, error)) {
      return read_file(folder / wanted);
    }
    folder = folder == folder.parent_path() ? std::filesystem::path{} : folder.parent_path();
  }
  return text_beside(input, name);
}

void add_trainer_text(const std::string& text, const std::string& given, TrainerFile& file) {
  add_data(parse_data(text, given), file);
}

void add_named_files(const ImportInput& input, TrainerFile& file) {
  struct Named {
    std::string_view key;
    std::string_view prefix;
  };
  constexpr std::array kNamed = {
      Named{"deepspeed", "deepspeed."},
      Named{"accelerate.deepspeed_config.deepspeed_config_file", "deepspeed."},
      Named{"fsdp_config", "fsdp_config."},
  };
  std::vector<Setting> found;
  for (Setting& setting : file.settings) {
    const auto* const named = std::find_if(kNamed.begin(), kNamed.end(), [&](const Named& row) {
      return row.key == setting.name && setting.value.kind == ConfigNode::Kind::kScalar;
    });
    if (named == kNamed.end() || setting.value.text.empty() || setting.value.text == "null") {
      continue;
    }
    const std::string& name = setting.value.text;
    const std::optional<std::string> text =
        is_json_text(name) ? std::optional(name) : text_near(input, name);
    std::vector<Setting> inner =
        text ? flat_settings(parse_data(*text, is_json_text(name) ? input.file : name),
                             named->prefix)
             : shipped_settings(name, setting.value, file.remarks);
    found.insert(found.end(), inner.begin(), inner.end());
  }
  file.settings.insert(file.settings.end(), found.begin(), found.end());
}

TrainerFile read_trainer_file(const ImportInput& input, TrainerDoor door) {
  const TextForm form = form_of(input.text, input.file);
  const bool code = form == TextForm::kShell || form == TextForm::kPython;
  const ConfigNode data = code ? ConfigNode{} : data_of(input);
  const TrainerFormat format = format_of(form, &data);
  if (!fits(door, format)) {
    refuse(input, door, format);
  }
  TrainerFile file;
  file.tool = tool_of(door);
  if (format == TrainerFormat::kShell) {
    read_trainer_command(input, door, file);
  } else if (format == TrainerFormat::kPython) {
    read_trainer_python(input, file);
  } else {
    add_data(data, file);
  }
  const bool script = format == TrainerFormat::kShell;
  std::vector<Setting> given =
      assignment_settings(script ? words_of_settings(input.overrides) : input.overrides);
  add_given_files(input, given, file);
  TrainerFile last;
  for (Setting& setting : given) {
    setting.name = routed(setting.name);
    last.settings.push_back(std::move(setting));
  }
  for (TrainerFile* part : {&last, &file}) {
    std::ranges::for_each(part->settings, rename_key);
    add_named_files(input, *part);
  }
  file.settings.insert(file.settings.end(), last.settings.begin(), last.settings.end());
  file.remarks.insert(file.remarks.end(), last.remarks.begin(), last.remarks.end());
  return file;
}

LaunchedScript launched_script(const LaunchedProgram& program, const ImportInput& input) {
  const ShellSources sources = [&](const std::string& name) { return text_near(input, name); };
  LaunchedScript launched{
      run_script(input.text, input.file, shell_assignments(input.overrides), sources), {}};
  launched.command = command_of(program, launched.script, input.file);
  return launched;
}

}  // namespace stepcast
