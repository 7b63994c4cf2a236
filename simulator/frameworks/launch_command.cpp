// SPDX-License-Identifier: Apache-2.0
#include "frameworks/launch_command.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "stepcast/base/ascii.hpp"
#include "stepcast/config/scalar.hpp"

namespace stepcast {
namespace {

constexpr int kDeepestText = 3;  // commands inside the texts of commands

bool is_argument(std::string_view word) {
  return word.size() > 2 && word.starts_with("--") && ascii::is_letter(word[2]);
}

std::size_t arguments_in(const std::vector<ShellWord>& words) {
  return static_cast<std::size_t>(std::count_if(
      words.begin(), words.end(), [](const ShellWord& word) { return is_argument(word.text); }));
}

// A word that is itself a command line, as for sh -c.
bool is_command_line(const std::string& text) {
  return text.find_first_of(" \n") != std::string::npos && text.find("--") != std::string::npos;
}

void collect(const ShellScript& script, const std::string& file, int depth,
             std::vector<ShellCommand>& commands) {
  for (const ShellCommand& command : script.commands) {
    commands.push_back(command);
    for (const ShellWord& word : command.words) {
      if (depth < kDeepestText && is_command_line(word.text) &&
          word.text.find(".py") != std::string::npos) {
        ShellScript inner = run_script(
            word.text, file, {}, [](const std::string&) { return std::optional<std::string>{}; });
        for (ShellCommand& own : inner.commands) {
          for (ShellWord& part : own.words) {
            part.where = word.where;
          }
        }
        collect(inner, file, depth + 1, commands);
      }
    }
  }
}

struct SizeOption {
  std::string_view name;
  std::optional<std::int64_t> LaunchSize::*member;
};
// The first that is there counts: torchrun's before those of the batch system.
constexpr std::array kSizeOptions = {
    SizeOption{"nnodes", &LaunchSize::nodes},
    SizeOption{"num_nodes", &LaunchSize::nodes},
    SizeOption{"nodes", &LaunchSize::nodes},
    SizeOption{"nproc_per_node", &LaunchSize::gpus_per_node},
    SizeOption{"num_gpus", &LaunchSize::gpus_per_node},  // of DeepSpeed's launcher
    SizeOption{"gpus_per_node", &LaunchSize::gpus_per_node},
    SizeOption{"ntasks_per_node", &LaunchSize::gpus_per_node},
};

// "-N 8" of srun and sbatch as the word that it is short for.
std::vector<ShellWord> long_options(std::vector<ShellWord> words) {
  for (ShellWord& word : words) {
    if (word.text == "-N") {
      word.text = "--nodes";
    }
  }
  return words;
}

}  // namespace

std::vector<ShellCommand> launched_commands(const ShellScript& script, const std::string& file) {
  std::vector<ShellCommand> commands;
  collect(script, file, 0, commands);
  return commands;
}

LaunchCommand training_command(const ShellScript& script, const std::string& file) {
  const std::vector<ShellCommand> commands = launched_commands(script, file);
  const auto best = std::max_element(commands.begin(), commands.end(),
                                     [](const ShellCommand& a, const ShellCommand& b) {
                                       return arguments_in(a.words) < arguments_in(b.words);
                                     });
  if (best == commands.end() || arguments_in(best->words) == 0) {
    throw ConfigError({file, 0, 0},
                      "has no command with arguments such as --num-layers; is it the script that "
                      "launches the training?");
  }
  LaunchCommand launch;
  const auto program =
      std::find_if(best->words.begin(), best->words.end(),
                   [](const ShellWord& word) { return word.text.ends_with(".py"); });
  const bool named = program != best->words.end();
  const auto first = named ? program : best->words.begin();
  launch.launcher.assign(best->words.begin(), first);
  launch.launcher.insert(launch.launcher.end(), script.directives.begin(), script.directives.end());
  launch.program = named ? program->text : std::string{};
  launch.arguments.assign(named ? first + 1 : first, best->words.end());
  return launch;
}

LaunchSize launch_size(const LaunchCommand& command) {
  LaunchSize size;
  const std::vector<Setting> options = argument_settings(long_options(command.launcher));
  for (const SizeOption& option : kSizeOptions) {
    const auto found = std::find_if(options.begin(), options.end(), [&](const Setting& setting) {
      return setting.name == option.name;
    });
    if (found != options.end() && !(size.*(option.member))) {
      const std::optional<std::int64_t> number = whole_number_in(found->value.text);
      size.*(option.member) = number.value_or(0) > 0 ? number : std::nullopt;
    }
  }
  return size;
}

std::vector<Setting> argument_settings(const std::vector<ShellWord>& words) {
  std::vector<Setting> settings;
  for (const ShellWord& word : words) {
    if (!is_argument(word.text)) {
      if (!settings.empty()) {
        std::string& value = settings.back().value.text;
        value =
            value == "true" && !settings.back().value.quoted ? word.text : value + " " + word.text;
        settings.back().value.quoted = true;
      }
      continue;
    }
    const std::size_t equals = word.text.find('=');
    std::string name = word.text.substr(2, std::min(equals, word.text.size()) - 2);
    std::replace(name.begin(), name.end(), '-', '_');
    const bool given = equals != std::string::npos;
    settings.push_back(
        text_setting(std::move(name), given ? word.text.substr(equals + 1) : "true", word.where));
    settings.back().value.quoted = given;  // until here: a value has been given
  }
  return settings;
}

}  // namespace stepcast
