// SPDX-License-Identifier: Apache-2.0
// `stepcast completion SHELL` and `stepcast manual`: what shells and man are told, from the same
// tree of commands that --help prints.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <string_view>

#include "cli/command_words.hpp"
#include "cli/commands.hpp"
#include "stepcast/base/text_list.hpp"

namespace stepcast::cli {
namespace {

// "--format --out ..." of a command.
std::string options_of(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      text += (text.empty() ? "--" : " --") + name;
    }
  }
  return text;
}

// What an option or an argument may be, where it is one of a list; CLI11 says it as {text,json}.
std::string choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{');
  const std::size_t end = type.find('}', std::min(begin, type.size()));
  if (begin == std::string::npos || end == std::string::npos) {
    return {};
  }
  std::string words = type.substr(begin + 1, end - begin - 1);
  std::ranges::replace(words, ',', ' ');
  return words;
}

// Of arguments without a name: the kinds of list.
std::string choices_of_arguments(const CLI::App& command) {
  return text_list(command.get_options(), "", [](const CLI::Option* option) {
    return option->get_positional() ? choices_of(*option) : "";
  });
}

std::string names_of_commands(const CLI::App& command) {
  return text_list(inner_commands(command), " ",
                   [](const CLI::App* inner) { return inner->get_name(); });
}

// A branch for each option of a command that is one of a list: "'project --format'".
std::string bash_choices(const CLI::App& command, const std::string& path) {
  std::string text;
  for (const CLI::Option* option : command.get_options()) {
    const std::string words = choices_of(*option);
    if (!words.empty() && !option->get_lnames().empty()) {
      text +=
          "    '" + path + " --" + option->get_lnames().front() + "') words='" + words + "' ;;\n";
    }
  }
  for (const CLI::App* inner : inner_commands(command)) {
    text += bash_choices(*inner, path.empty() ? inner->get_name() : path + " " + inner->get_name());
  }
  return text;
}

// One branch for each command and for each command inside one: its words, or files.
std::string bash_branches(const CLI::App& command, const std::string& path) {
  std::string text;
  for (const CLI::App* inner : inner_commands(command)) {
    const std::string name = path.empty() ? inner->get_name() : path + " " + inner->get_name();
    text += "    '" + name + "') options='" + options_of(*inner) + "'; commands='" +
            names_of_commands(*inner) + choices_of_arguments(*inner) + "' ;;\n" +
            bash_branches(*inner, name);
  }
  return text;
}

// Commands that have commands inside, with blanks around each.
std::string nested_commands(const CLI::App& program) {
  std::string text = " ";
  for (const CLI::App* command : inner_commands(program)) {
    text += inner_commands(*command).empty() ? "" : command->get_name() + " ";
  }
  return text;
}

// Names of what there is come from the program itself.
constexpr std::string_view kBashNames = R"sh(  case "$last" in
    --gpu) kinds=gpus ;;
    --model) kinds=models ;;
    --cluster) kinds=clusters ;;
    --software) kinds=software ;;
    --schedule) kinds=schedules ;;
    describe) kinds=$described ;;
  esac
  for kind in $kinds; do words+=" $(stepcast list $kind 2>/dev/null | cut -d' ' -f1)"; done
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    [ "$last" != describe ] || COMPREPLY+=($(compgen -f -- "$word"))
    return
  fi
)sh";

constexpr std::string_view kBashReply = R"sh(  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    *) COMPREPLY=($(compgen -W "$commands" -- "$word"))
       [ -n "$commands" ] || COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}
complete -o filenames -F _stepcast stepcast
)sh";

// Kinds of names that `describe` takes: those that `list` lists, but formats, which it takes behind
// a word of their own.
std::string described_kinds(const CLI::App& program) {
  std::string kinds;
  std::istringstream all(choices_of_arguments(*program.get_subcommand("list")));
  for (std::string kind; all >> kind;) {
    kinds += kind == kFormats ? "" : (kinds.empty() ? "" : " ") + kind;
  }
  return kinds;
}

std::string bash_completion(const CLI::App& program) {
  std::string text =
      "# bash completion of stepcast\n"
      "_stepcast() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local path='' options='' commands='' words='' kinds='' kind=''\n"
      "  local described='" +
      described_kinds(program) +
      "'\n"
      "  [ \"$COMP_CWORD\" -gt 1 ] && path=${COMP_WORDS[1]}\n"
      "  case '" +
      nested_commands(program) +
      "' in\n    *\" $path \"*) [ \"$COMP_CWORD\" -gt 2 ] && path=\"$path ${COMP_WORDS[2]}\" ;;\n"
      "  esac\n";
  text += "  case \"$path $last\" in\n" + bash_choices(program, "") + "  esac\n";
  text += kBashNames;
  const std::string commands = names_of_commands(program);
  text += "  case \"$path\" in\n    '') options='" + options_of(program) + "'; commands='" +
          commands + " help' ;;\n    'help') commands='" + commands + "' ;;\n" +
          bash_branches(program, "");
  return text += kBashReply;
}

// zsh takes bash's functions.
std::string zsh_completion(const CLI::App& program) {
  return "#compdef stepcast\nautoload -U +X bashcompinit && bashcompinit\n" +
         bash_completion(program);
}

// Text of a man page: a hyphen that is to be typed, a backslash, a control line.
std::string troff(const std::string& text) {
  std::string out = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (const char c : text) {
    out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  }
  return out;
}

std::string manual_of(const CLI::App& command, const std::string& path) {
  std::string text = ".SS " + troff(path) + "\n" + troff(command.get_description()) + "\n";
  for (const CLI::Option* option : command.get_options()) {
    const std::string type = option->get_type_size() == 0 ? "" : " " + option->get_type_name();
    text += ".TP\n.B " + troff(option->get_name(option->get_positional())) +
            (option->get_positional() ? "" : troff(type)) + "\n" +
            troff(option->get_description()) + "\n";
  }
  if (!command.get_footer().empty()) {
    text += ".PP\n" + troff(command.get_footer()) + "\n";
  }
  for (const CLI::App* inner : inner_commands(command)) {
    text += manual_of(*inner, path + " " + inner->get_name());
  }
  return text;
}

// "stepcast - projects the ...", of which apropos(1) takes both halves.
std::string name_line(const std::string& description) {
  constexpr std::string_view kProgram = "stepcast ";
  const std::size_t begin = description.starts_with(kProgram) ? kProgram.size() : 0;
  return "stepcast \\- " + troff(description.substr(begin));
}

std::string manual(const CLI::App& program) {
  std::string text = ".TH STEPCAST 1 \"\" \"stepcast " STEPCAST_VERSION "\"\n.SH NAME\n" +
                     name_line(program.get_description()) +
                     "\n.SH SYNOPSIS\n.B stepcast\n.I COMMAND\n[OPTIONS] ...\n.SH COMMANDS\n";
  for (const CLI::App* command : inner_commands(program)) {
    text += manual_of(*command, command->get_name());
  }
  return text +
         ".SH EXIT STATUS\n0: done. 1: a fault of the program. 2: the input is wrong. 3: the plan "
         "cannot run. 130: stopped by the user.\n";
}

using Write = std::string (*)(const CLI::App&);

void add_writer(CLI::App& command, const CLI::App& program, Write write, Run& run) {
  auto output = std::make_shared<std::string>();
  add_out_option(command, *output);
  on_choice(command, run, [&program, write, output] {
    write_file(*output, write(program));
    return kDone;
  });
}

}  // namespace

void add_shell_words(CLI::App& program, Run& run) {
  CLI::App* completion = program.add_subcommand(
      "completion", "what a shell needs to complete commands, options and names");
  completion->require_subcommand(1);
  CLI::App* bash = completion->add_subcommand("bash", "to be sourced by bash");
  bash->footer("Example: source <(stepcast completion bash)");
  add_writer(*bash, program, bash_completion, run);
  CLI::App* zsh = completion->add_subcommand("zsh", "to be sourced by zsh");
  zsh->footer("Example: source <(stepcast completion zsh)");
  add_writer(*zsh, program, zsh_completion, run);
  add_writer(*program.add_subcommand("manual", "the man page, as man(1) reads it"), program, manual,
             run);
}

}  // namespace stepcast::cli
