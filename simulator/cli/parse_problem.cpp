// SPDX-License-Identifier: Apache-2.0
#include "cli/parse_problem.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "stepcast/base/ascii.hpp"

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

}  // namespace

ConfigError parse_problem(const CLI::ParseError& error, const CLI::App& program) {
  return ConfigError({as_told(error.what(), chosen(program))});
}

}  // namespace stepcast::cli
