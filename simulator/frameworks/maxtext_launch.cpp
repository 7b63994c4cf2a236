// SPDX-License-Identifier: Apache-2.0
#include "frameworks/maxtext_launch.hpp"

#include <filesystem>
#include <utility>

#include "frameworks/launch_command.hpp"
#include "frameworks/text_form.hpp"
#include "frameworks/trainer_files.hpp"

namespace stepcast {
namespace {

constexpr int kMostBases = 8;

// "32_000" as YAML 1.1 and Python have it.
ConfigNode without_separators(ConfigNode value) {
  const bool grouped = !value.quoted && !value.text.empty() &&
                       value.text.find_first_not_of("0123456789_") == std::string::npos;
  if (grouped) {
    std::erase(value.text, '_');
  }
  return value;
}

// The keys of the file after those of the files that it builds upon.
std::vector<Setting> maxtext_settings(const ConfigNode& root, const std::filesystem::path& folder,
                                      int depth) {
  if (root.kind == ConfigNode::Kind::kScalar || root.kind == ConfigNode::Kind::kSequence) {
    throw ConfigError(root.location(), "has no keys of MaxText, such as per_device_batch_size");
  }
  std::vector<Setting> settings;
  for (const ConfigEntry& entry : root.entries) {
    if (entry.key != "base_config") {
      settings.push_back({entry.key, without_separators(entry.value)});
      continue;
    }
    const std::filesystem::path base = folder / entry.value.text;
    if (base.filename() == "base.yml" || entry.value.text.empty()) {
      continue;  // its values are the defaults here
    }
    if (depth >= kMostBases || folder.empty() || !std::filesystem::exists(base)) {
      throw ConfigError(entry.value.location(),
                        "base_config '" + entry.value.text.substr(0, 100) +
                            "' is not there; give it beside the file, or base.yml");
    }
    const std::vector<Setting> below =
        maxtext_settings(load_config(base), base.parent_path(), depth + 1);
    settings.insert(settings.begin(), below.begin(), below.end());
  }
  return settings;
}

constexpr LaunchedProgram kMaxTextProgram{
    "MaxText",
    "MaxText/train.py MaxText.train MaxText/train_compile.py maxtext.trainers maxtext/trainers "
    "MaxText.trainers maxtext.train maxtext/train.py",
    ArgumentForm::kAssignments};

// The file of keys that a command names: its first argument, whose defaults stand here if it is
// base.yml.
std::vector<Setting> named_settings(const LaunchCommand& command, const ImportInput& input) {
  for (const ShellWord& word : command.arguments) {
    const std::filesystem::path name = word.text;
    const bool is_file = name.extension() == ".yml" || name.extension() == ".yaml";
    if (!is_file || word.text.find('=') != std::string::npos) {
      continue;
    }
    if (name.filename() == "base.yml") {
      return {};
    }
    const std::optional<std::string> text = text_near(input, word.text);
    if (!text) {
      throw ConfigError(word.where, "names the file '" + word.text.substr(0, 100) +
                                        "', which is not beside the script; put it there, or "
                                        "import it with the script's KEY=VALUE behind it");
    }
    return maxtext_settings(parse_config(*text, word.text), input.folder, 0);
  }
  return {};
}

}  // namespace

MaxTextLaunch read_maxtext_launch(const ImportInput& input) {
  if (form_of(input.text, input.file) != TextForm::kShell) {
    return {maxtext_settings(yaml_of(input), input.folder, 0), {}, {}, {}};
  }
  LaunchCommand command = launched_script(kMaxTextProgram, input).command;
  MaxTextLaunch file{
      named_settings(command, input), {}, std::move(command.doubts), launch_size(command.launcher)};
  for (Setting& setting : settings_in(command.arguments, ArgumentForm::kAssignments)) {
    setting.value = without_separators(std::move(setting.value));
    file.arguments.push_back(std::move(setting));
  }
  return file;
}

}  // namespace stepcast
