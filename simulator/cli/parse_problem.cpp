// SPDX-License-Identifier: Apache-2.0
#include "cli/parse_problem.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "cli/command_words.hpp"
#include "cli/common_options.hpp"
#include "stepcast/base/ascii.hpp"
#include "stepcast/base/each_of.hpp"
#include "stepcast/base/nearest_name.hpp"
#include "stepcast/stepcast.hpp"

namespace stepcast::cli {
namespace {

// The innermost command that the command line names, or the program itself.
const CLI::App& chosen(const CLI::App& program) {
  const std::vector<CLI::App*> inner = program.get_subcommands();
  return inner.empty() ? program : chosen(*inner.front());
}

// "sweep" or "import megatron"; empty for the program itself.
std::string words_of(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  if (parent == nullptr) {
    return "";
  }
  const std::string before = words_of(*parent);
  return before.empty() ? command.get_name() : before + " " + command.get_name();
}

std::string see_help(const CLI::App& command) {
  const std::string words = words_of(command);
  return "; see 'stepcast " + (words.empty() ? "" : words + " ") + "--help'";
}

bool is_option(const std::string& name, const CLI::App& command) {
  const CLI::Option* option = command.get_option_no_throw(name);
  return option != nullptr && !option->get_positional();
}

// "--top: 1 required INT missing" and "--rank excludes --ranks" as their place, an option of the
// command, and what CLI11 says of it.
Diagnostic as_told(const std::string& text, const CLI::App& command) {
  const std::size_t end = std::min(text.find_first_of(": "), text.size());
  const bool has_place = is_option(text.substr(0, end), command);
  const std::size_t begin = text.find_first_not_of(": ", end);
  std::string message = has_place && begin != std::string::npos ? text.substr(begin) : text;
  if (message.size() > 1 && ascii::is_lower(message[1])) {
    message[0] = ascii::lower(message[0]);
  }
  return {{has_place ? text.substr(0, end) : "command line", 0, 0}, message + see_help(command)};
}

// Of a command and of those around it, whose options may stand behind it.
const CLI::Option* find_option(const CLI::App* command, const std::string& name) {
  for (; command != nullptr; command = command->get_parent()) {
    if (const CLI::Option* option = command->get_option_no_throw(name)) {
      return option;
    }
  }
  return nullptr;
}

std::vector<std::string> option_names(const CLI::App* command) {
  std::vector<std::string> names;
  for (; command != nullptr; command = command->get_parent()) {
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        names.push_back("--" + name);
      }
    }
  }
  return names;
}

std::vector<std::string> names_of(const std::vector<const CLI::App*>& commands) {
  return each_of(commands, [](const CLI::App* command) { return command->get_name(); });
}

// The option of what a framework calls so, --tp for --tensor-model-parallel-size; else the nearest.
std::string option_meant(const std::string& name, const CLI::App* command) {
  const std::string ours = option_of(Simulator::key_called(name));
  return !ours.empty() && find_option(command, ours) != nullptr
             ? "; did you mean '" + ours + "'?"
             : did_you_mean(name, option_names(command));
}

std::string problem(const std::string& what, const std::string& word, const std::string& near,
                    const std::string& command) {
  const std::string help = command == "stepcast" ? "stepcast help" : "stepcast help " + command;
  return "command line: error: there is no " + what + " '" + word.substr(0, 60) + "'" +
         (near.empty() ? "; '" + help + "' shows what there is" : near);
}

}  // namespace

ConfigError parse_problem(const CLI::ParseError& error, const CLI::App& program) {
  return ConfigError({as_told(error.what(), chosen(program))});
}

std::optional<std::string> unknown_word(const CLI::App& program,
                                        const std::vector<std::string>& arguments) {
  const CLI::App* command = &program;
  std::string path = "stepcast";
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word.starts_with("--") && word.size() > 2) {
      const std::size_t equals = word.find('=');
      const std::string name = word.substr(0, equals);
      const CLI::Option* option = find_option(command, name);
      if (option == nullptr) {
        return problem("option", name, option_meant(name, command), path);
      }
      const bool takes_next = equals == std::string::npos && option->get_items_expected_max() > 0;
      i += takes_next ? 1 : 0;
    } else if (!word.starts_with('-') && !inner_commands(*command).empty()) {
      const std::vector<const CLI::App*> inner = inner_commands(*command);
      const auto named = std::ranges::find_if(
          inner, [&word](const CLI::App* app) { return app->get_name() == word; });
      if (named == inner.end()) {
        return problem("command", word, did_you_mean(word, names_of(inner)), path);
      }
      path = path == "stepcast" ? word : path + " " + word;
      command = *named;
    }
  }
  return std::nullopt;
}

}  // namespace stepcast::cli
