// SPDX-License-Identifier: Apache-2.0
#include "frameworks/megatron_yaml.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "frameworks/shell_script.hpp"
#include "stepcast/config/config_yaml.hpp"

namespace stepcast {
namespace {

// Of a functional test the arguments of its one run.
constexpr std::string_view kTestArguments = "MODEL_ARGS";

// A mapping as settings, one a key that holds no mapping, under the key alone: Megatron's YAML puts
// fields into groups that its code takes apart again.
void collect_settings(const ConfigNode& node, const std::string& key, std::vector<Setting>& all) {
  if (node.kind == ConfigNode::Kind::kMapping) {
    for (const ConfigEntry& entry : node.entries) {
      collect_settings(entry.value, entry.key, all);
    }
  } else if (!key.empty()) {
    all.push_back({megatron_field_name(key), node});
  }
}

// Puts variables into values.
class VariableReader {
 public:
  explicit VariableReader(const ImportInput& input)
      : variables_(shell_assignments(input.overrides)) {}

  // `doubts` gets those that nobody gives, which stay as they are.
  void settle(Setting& setting, std::vector<SettingDoubt>& doubts) const {
    std::string settled;
    std::string_view rest = setting.value.text;
    for (std::size_t begin = rest.find("${"); begin != std::string_view::npos;
         begin = rest.find("${")) {
      const std::size_t end = rest.find('}', begin);
      if (end == std::string_view::npos) {
        break;
      }
      const std::string name(rest.substr(begin + 2, end - begin - 2));
      settled += rest.substr(0, begin);
      settled += value_of(name, setting, doubts);
      rest.remove_prefix(end + 1);
    }
    if (!settled.empty() || rest.size() < setting.value.text.size()) {
      setting.value.text = settled + std::string(rest);
      setting.value.quoted = false;
    }
  }

 private:
  std::string value_of(const std::string& name, const Setting& setting,
                       std::vector<SettingDoubt>& doubts) const {
    const auto found = variables_.find(name);
    if (found != variables_.end()) {
      return found->second;
    }
    SettingDoubt doubt;
    doubt.name = setting.name;
    doubt.cause = "nobody sets " + name.substr(0, 60);
    doubt.remedy = "give " + name.substr(0, 60) + "=VALUE behind the file";
    doubt.where = setting.value.location();
    doubts.push_back(std::move(doubt));
    return "${" + name + "}";
  }

  std::map<std::string, std::string> variables_;
};

ConfigNode root_of(const ImportInput& input) {
  // What can be read strictly is, for its messages; one with anchors or repeated keys as it is.
  if (input.text.find(kTestArguments) == std::string::npos) {
    return yaml_of(input);
  }
  return read_open_yaml(input.text, std::make_shared<const std::string>(input.file));
}

}  // namespace

std::string megatron_field_name(std::string_view key) {
  std::string name(key.starts_with("--") ? key.substr(2) : key);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

MegatronYaml read_megatron_yaml(const ImportInput& input) {
  const ConfigNode root = root_of(input);
  const ConfigNode* const arguments = root.find(kTestArguments);
  MegatronYaml yaml;
  collect_settings(arguments == nullptr ? root : *arguments, {}, yaml.settings);
  const VariableReader variables(input);
  for (Setting& setting : yaml.settings) {
    if (setting.value.kind == ConfigNode::Kind::kScalar) {
      variables.settle(setting, yaml.doubts);
    }
  }
  return yaml;
}

}  // namespace stepcast
