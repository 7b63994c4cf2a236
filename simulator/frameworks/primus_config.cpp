// SPDX-License-Identifier: Apache-2.0
// Source: AMD-AGI/Primus, docs/02-user-guide/configuration-system.md and primus/core/config.
#include "frameworks/primus_config.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "frameworks/megatron_import.hpp"
#include "frameworks/shell_assignment.hpp"
#include "frameworks/shell_script.hpp"
#include "stepcast/config/config_yaml.hpp"

namespace stepcast {
namespace {

constexpr int kDeepestExtends = 16;
constexpr std::size_t kLongestValue = 100'000;

class PrimusReader {
 public:
  explicit PrimusReader(const ImportInput& input)
      : input_(input), variables_(shell_assignments(input.overrides)) {}

  PrimusConfig config() {
    ConfigNode root = parse_config(input_.text, input_.file);
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
    config.settings = leaf_overrides(*trainer, config.overrides);
    for (Setting& setting : override_settings(input_.overrides)) {
      config.settings.push_back(std::move(setting));
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
  static std::vector<Setting> leaf_overrides(const ConfigNode& trainer, ConfigNode& overrides) {
    std::vector<Setting> settings;
    if (const ConfigNode* written = trainer.find("overrides")) {
      overrides = *written;
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

  // What a preset extends, in order, and then its own keys in their place.
  void collect(const std::filesystem::path& file, int depth,
               std::map<std::string, ConfigNode>& all) {
    if (depth > kDeepestExtends) {
      diagnostics_.error({file.string(), 0, 0}, "extends itself, or more than 16 files deep");
      return;
    }
    ConfigNode root = load_config(file);
    expand(root);
    if (const ConfigNode* extends = root.find("extends")) {
      for (const ConfigNode& base : extends->items) {
        const std::string name = stem(base.text) + ".yaml";
        collect(file.parent_path() / name, depth + 1, all);
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

}  // namespace

std::vector<Setting> dotted_settings(const Setting& setting) {
  std::vector<Setting> all;
  collect_leaves(setting.name, setting.value, all);
  return all;
}

PrimusConfig read_primus_config(const ImportInput& input) { return PrimusReader(input).config(); }

}  // namespace stepcast
