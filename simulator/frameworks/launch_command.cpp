// SPDX-License-Identifier: Apache-2.0
#include "frameworks/launch_command.hpp"

#include <algorithm>
#include <utility>

#include "frameworks/launch_doubts.hpp"
#include "stepcast/base/ascii.hpp"

namespace stepcast {
namespace {

bool is_argument(std::string_view word) {
  return word.size() > 2 && word.starts_with("--") && ascii::is_letter(word[2]);
}

std::size_t arguments_in(const std::vector<ShellWord>& words) {
  return static_cast<std::size_t>(std::count_if(
      words.begin(), words.end(), [](const ShellWord& word) { return is_argument(word.text); }));
}

std::size_t program_in(const std::vector<ShellWord>& words) {
  const auto found = std::find_if(words.begin(), words.end(),
                                  [](const ShellWord& word) { return word.text.ends_with(".py"); });
  return static_cast<std::size_t>(found - words.begin());
}

// A variable that holds arguments, where no command has any.
std::string variable_with_arguments(const ShellScript& script) {
  for (const auto& [name, items] : script.variables) {
    const bool holds = std::any_of(items.begin(), items.end(), [](const std::string& item) {
      return is_argument(item) || item.find(" --") != std::string::npos;
    });
    if (holds) {
      return name;
    }
  }
  return {};
}

[[noreturn]] void refuse_script(const ShellScript& script, const std::string& file) {
  if (const std::string name = variable_with_arguments(script); !name.empty()) {
    throw ConfigError({file, 0, 0}, name.substr(0, 60) +
                                        " holds arguments, but no command runs; give the script "
                                        "that sources this one");
  }
  if (!script.missing.empty()) {
    throw ConfigError(script.missing.front().where,
                      "runs '" + script.missing.front().text.substr(0, 100) +
                          "', which is not beside the script, and no command with arguments such "
                          "as --num-layers; put it there, or give that script");
  }
  if (script.stopped) {
    throw ConfigError(*script.stopped,
                      "ends the script here, before any command with arguments such as "
                      "--num-layers; give the variables or arguments that it asks for: KEY=VALUE, "
                      "1=VALUE");
  }
  throw ConfigError({file, 0, 0},
                    "has no command with arguments such as --num-layers; is it the script that "
                    "launches the training?");
}

}  // namespace

std::vector<ShellWord> launcher_of(const ShellCommand& command, std::size_t program,
                                   const ShellScript& script) {
  std::vector<ShellWord> words(command.words.begin(),
                               command.words.begin() + static_cast<std::ptrdiff_t>(program));
  words.insert(words.end(), command.within.begin(), command.within.end());
  words.insert(words.end(), script.directives.begin(), script.directives.end());
  return words;
}

LaunchCommand training_command(const ShellScript& script, const std::string& file) {
  const std::vector<ShellCommand>& commands = script.commands;
  const auto best = std::max_element(commands.begin(), commands.end(),
                                     [](const ShellCommand& a, const ShellCommand& b) {
                                       return arguments_in(a.words) < arguments_in(b.words);
                                     });
  if (best == commands.end() || arguments_in(best->words) == 0) {
    refuse_script(script, file);
  }
  LaunchCommand launch;
  const std::size_t program = program_in(best->words);
  const bool named = program < best->words.size();
  launch.program = named ? best->words[program].text : std::string{};
  launch.launcher = launcher_of(*best, named ? program : 0, script);
  launch.arguments.assign(
      best->words.begin() + static_cast<std::ptrdiff_t>(named ? program + 1 : 0),
      best->words.end());
  launch.doubts = doubts_of(script, *best, launch.program);
  return launch;
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
