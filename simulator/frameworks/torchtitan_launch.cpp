// SPDX-License-Identifier: Apache-2.0
#include "frameworks/torchtitan_launch.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "frameworks/job_size.hpp"
#include "frameworks/launch_command.hpp"
#include "frameworks/launch_size.hpp"
#include "frameworks/trainer_files.hpp"

namespace stepcast {
namespace {

constexpr LaunchedProgram kTorchtitanProgram{
    "torchtitan", "torchtitan.train torchtitan/train.py run_train.sh train.py"};

std::string variable_of(const ShellScript& script, const std::string& name) {
  for (const ShellCommand& command : script.commands) {
    const auto own = command.environment.find(name);
    if (own != command.environment.end()) {
      return own->second;
    }
  }
  const auto found = script.variables.find(name);
  return found == script.variables.end() || found->second.empty() ? std::string{}
                                                                  : found->second.front();
}

// The last value of an argument, which is taken out.
std::string taken_argument(std::vector<Setting>& settings, std::string_view name) {
  std::string value;
  std::erase_if(settings, [&](const Setting& setting) {
    value = setting.name == name ? setting.value.text : value;
    return setting.name == name;
  });
  return value;
}

// What the command says of the config: an argument before the variable of its kind.
class LaunchReader {
 public:
  explicit LaunchReader(const ImportInput& input) : input_(input) {
    LaunchedScript launched = launched_script(kTorchtitanProgram, input);
    script_ = std::move(launched.script);
    command_ = std::move(launched.command);
    arguments_ = argument_settings(command_.arguments);
  }

  TorchtitanLaunch launch() {
    TorchtitanLaunch launch{input_, std::move(command_.doubts)};
    const std::string named = chosen("job.config_file", "CONFIG_FILE");
    const std::string module = chosen("module", "MODULE");
    const std::string recipe = chosen("config", "CONFIG");
    set_text(named.empty() && !module.empty()
                 ? "torchtitan/models/" + module + "/config_registry.py"
                 : named,
             launch.input);
    launch.input.overrides.clear();
    add("MODULE", module, launch.input);
    add("CONFIG", recipe, launch.input);
    for (const Setting& argument : arguments_) {
      launch.input.overrides.push_back(argument.name + "=" + argument.value.text);
    }
    set_size(launch.input);
    for (const std::string& given : words_of_settings(input_.overrides)) {
      launch.input.overrides.push_back(given);
      std::erase_if(launch.doubts, [&](const SettingDoubt& doubt) {
        return given.starts_with(doubt.name + "=") || given.starts_with("--" + doubt.name + "=");
      });
    }
    return launch;
  }

 private:
  std::string chosen(std::string_view argument, const char* variable) {
    const std::string said = taken_argument(arguments_, argument);
    return said.empty() ? variable_of(script_, variable) : said;
  }

  static void add(const std::string& name, const std::string& value, ImportInput& input) {
    if (!value.empty()) {
      input.overrides.push_back(name + "=" + value);
    }
  }

  void set_text(const std::string& name, ImportInput& input) const {
    if (name.empty()) {
      throw ConfigError({input_.file, 0, 0},
                        "names no job config; give CONFIG_FILE=FILE.toml, or MODULE=NAME "
                        "CONFIG=NAME, behind it");
    }
    const std::optional<std::string> text = text_near(input_, name);
    if (!text) {
      throw ConfigError({input_.file, 0, 0},
                        "names the job config '" + name.substr(0, 100) +
                            "', which is not beside the script; put it there, or import it with "
                            "the command's --section.key=value behind it");
    }
    input.text = *text;
    input.file = name;
    input.folder = input_.folder / std::filesystem::path(name).parent_path();
  }

  // As its launcher says; run_train.sh takes the GPUs of one node from NGPU.
  void set_size(ImportInput& input) const {
    const LaunchSize size = launch_size(command_.launcher);
    const std::string ngpu = variable_of(script_, "NGPU");
    const std::int64_t node = size.gpus_per_node.value_or(gpus_per_node(input_));
    if (input.nodes) {
      return;
    }
    if (size.nodes || size.gpus_per_node) {
      add("NGPU", std::to_string(bounded_product(size.nodes.value_or(1), node)), input);
    } else {
      add("NGPU", ngpu, input);
    }
  }

  const ImportInput& input_;
  ShellScript script_;
  LaunchCommand command_;
  std::vector<Setting> arguments_;
};

}  // namespace

TorchtitanLaunch read_torchtitan_launch(const ImportInput& input) {
  return LaunchReader(input).launch();
}

}  // namespace stepcast
