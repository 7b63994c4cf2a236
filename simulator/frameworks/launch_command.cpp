// SPDX-License-Identifier: Apache-2.0
#include "frameworks/launch_command.hpp"

#include <algorithm>
#include <array>
#include <optional>
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

bool runs_training(const ShellCommand& command, const TrainingPrograms& trains) {
  const std::size_t at = program_in(command.words);
  return !trains || at >= command.words.size() || trains(command.words[at].text);
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

// The variables by which PyTorch's allocator is told, on NVIDIA's and AMD's parts, old and new.
bool grows_segments(const ShellScript& script, const ShellCommand& command) {
  constexpr std::array kVariables = {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF",
                                     "PYTORCH_ALLOC_CONF"};
  const auto says_so = [](const std::string& text) {
    return ascii::lower_case(text).find("expandable_segments:true") != std::string::npos;
  };
  return std::ranges::any_of(kVariables, [&](const char* name) {
    const auto own = command.environment.find(name);
    const auto exported = script.variables.find(name);
    return (own != command.environment.end() && says_so(own->second)) ||
           (exported != script.variables.end() && !exported->second.empty() &&
            says_so(exported->second.front()));
  });
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

bool runs(const LaunchedProgram& program, std::string_view word) {
  const std::vector<std::string_view> signs = names_in(program.signs);
  return std::any_of(signs.begin(), signs.end(), [word](std::string_view sign) {
    return word.find(sign) != std::string_view::npos;
  });
}

bool has_blank(std::string_view text) {
  return text.find_first_of(" \t\n") != std::string_view::npos;
}

// The words of a text that a command is handed, up to the end of the command in it that runs a
// program; a word by itself as it is.
std::vector<ShellWord> words_within(const ShellWord& word) {
  if (!has_blank(word.text)) {
    return {word};
  }
  std::vector<ShellWord> words;
  std::string_view rest = word.text;
  while (!rest.empty()) {
    const std::size_t begin = std::min(rest.find_first_not_of(" \t\n"), rest.size());
    const std::size_t end = std::min(rest.find_first_of(" \t\n", begin), rest.size());
    std::string text(rest.substr(begin, end - begin));
    std::erase_if(text, [](char c) { return c == '"' || c == '\''; });
    if (!text.empty() && text != "\\") {
      words.push_back({std::move(text), word.where, word.is_known});
    }
    rest.remove_prefix(end);
  }
  return words;
}

bool ends_command(const std::string& word) {
  return word == "&&" || word == "||" || word == "|" || word == ";" || word.ends_with(';');
}

// The program with its arguments where a command runs it; nothing where it does not.
std::optional<LaunchCommand> program_of_command(const LaunchedProgram& program,
                                                const ShellCommand& command,
                                                const ShellScript& script) {
  const auto found = std::find_if(command.words.begin(), command.words.end(),
                                  [&](const ShellWord& word) { return runs(program, word.text); });
  if (found == command.words.end()) {
    return std::nullopt;
  }
  const bool within = has_blank(found->text);
  std::vector<ShellWord> words = words_within(*found);
  const auto at = std::find_if(words.begin(), words.end(),
                               [&](const ShellWord& word) { return runs(program, word.text); });
  LaunchCommand launch;
  launch.program = at->text;
  launch.launcher =
      launcher_of(command, static_cast<std::size_t>(found - command.words.begin()), script);
  launch.arguments.assign(at + 1, std::find_if(at + 1, words.end(), [](const ShellWord& word) {
                            return ends_command(word.text);
                          }));
  if (within) {
    launch.launcher.insert(launch.launcher.end(), found + 1, command.words.end());
  } else {
    launch.arguments.insert(launch.arguments.end(), found + 1, command.words.end());
  }
  launch.doubts = doubts_of(script, command, within ? std::string{} : launch.program, program.form);
  launch.grows_segments = grows_segments(script, command);
  return launch;
}

// "per_device_batch_size=4", "+model.fp8=true"; nothing of a file's name or an option.
std::optional<Setting> assignment_in(const ShellWord& word) {
  std::string_view text = word.text;
  text.remove_prefix(std::min(text.find_first_not_of('+'), text.size()));
  const std::size_t equals = text.find('=');
  const bool is_key = equals != std::string_view::npos && equals > 0 && ascii::is_lower(text[0]) &&
                      text.substr(0, equals).find('/') == std::string_view::npos;
  return is_key ? std::optional(text_setting(std::string(text.substr(0, equals)),
                                             std::string(text.substr(equals + 1)), word.where))
                : std::nullopt;
}

}  // namespace

std::vector<Setting> settings_in(const std::vector<ShellWord>& words, ArgumentForm form) {
  if (form == ArgumentForm::kOptions) {
    return argument_settings(words);
  }
  std::vector<Setting> settings;
  for (const ShellWord& whole : words) {
    for (const ShellWord& word : words_within(whole)) {
      if (std::optional<Setting> setting = assignment_in(word)) {
        settings.push_back(*std::move(setting));
      }
    }
  }
  return settings;
}

LaunchCommand command_of(const LaunchedProgram& program, const ShellScript& script,
                         const std::string& file) {
  std::optional<LaunchCommand> best;
  for (const ShellCommand& command : script.commands) {
    std::optional<LaunchCommand> found = program_of_command(program, command, script);
    if (found && (!best || best->arguments.size() < found->arguments.size())) {
      best = std::move(found);
    }
  }
  if (!best && !script.missing.empty()) {
    throw ConfigError(script.missing.front().where,
                      "runs '" + script.missing.front().text.substr(0, 100) +
                          "', which is not beside the script, and no command of " +
                          std::string(program.what) + "; put it there, or give that script");
  }
  if (!best && script.stopped) {
    throw ConfigError(*script.stopped,
                      "ends the script here, before any command that runs " +
                          std::string(program.what) +
                          "; give the variables or arguments that it asks for: KEY=VALUE, 1=VALUE");
  }
  if (!best) {
    throw ConfigError({file, 0, 0}, "has no command that runs " + std::string(program.what) +
                                        "; is it the script that launches the training?");
  }
  return *std::move(best);
}

std::vector<ShellWord> launcher_of(const ShellCommand& command, std::size_t program,
                                   const ShellScript& script) {
  std::vector<ShellWord> words(command.words.begin(),
                               command.words.begin() + static_cast<std::ptrdiff_t>(program));
  words.insert(words.end(), command.within.begin(), command.within.end());
  words.insert(words.end(), script.directives.begin(), script.directives.end());
  return words;
}

LaunchCommand training_command(const ShellScript& script, const std::string& file,
                               const TrainingPrograms& trains) {
  const std::vector<ShellCommand>& commands = script.commands;
  const auto fewer = [](const ShellCommand& a, const ShellCommand& b) {
    return arguments_in(a.words) < arguments_in(b.words);
  };
  auto best = std::max_element(commands.begin(), commands.end(), fewer);
  const auto is_beside = [&](const ShellCommand& command) {
    return runs_training(command, trains) &&
           arguments_in(command.words) * 2 > arguments_in(best->words);
  };
  if (best != commands.end() && !runs_training(*best, trains)) {
    const auto other = std::find_if(commands.begin(), commands.end(), is_beside);
    best = other == commands.end() ? best : other;
  }
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
  launch.grows_segments = grows_segments(script, *best);
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
