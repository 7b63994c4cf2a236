// SPDX-License-Identifier: Apache-2.0
// The program: picks the command, and turns the three classes of error into exit codes.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string_view>

#include "built_commit.hpp"
#include "cli/command_words.hpp"
#include "cli/commands.hpp"
#include "cli/framework_arguments.hpp"
#include "cli/option_checks.hpp"
#include "cli/unknown_words.hpp"

namespace stepcast::cli {
namespace {

// The commit that was built, where there was one.
std::string version_text() {
  const std::string_view commit = kCommit;
  return "stepcast " STEPCAST_VERSION +
         (commit.empty() ? std::string{} : " (" + std::string(commit) + ")");
}

// `stepcast help sweep` as `stepcast sweep --help`, `stepcast version` as `stepcast --version`.
std::vector<std::string> with_words_as_options(std::vector<std::string> arguments) {
  if (!arguments.empty() && arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  } else if (!arguments.empty() && arguments.front() == "version") {
    arguments.front() = "--version";
  }
  return arguments;
}

// A word of a command line as a shell takes it.
std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:=,+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
    return word;
  }
  std::string text = "'";
  for (const char c : word) {
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return text + "'";
}

std::string command_line(int argc, char** argv) {
  std::string text = "stepcast";
  for (int i = 1; i < argc; ++i) {
    text += " " + quoted(argv[i]);
  }
  return text;
}

void log_to_standard_error(const GlobalOptions& global) {
  auto logger = spdlog::stderr_logger_st("stepcast");
  logger->set_pattern("%l: %v");
  logger->set_level(global.verbose ? spdlog::level::debug
                    : global.quiet ? spdlog::level::err
                                   : spdlog::level::warn);
  spdlog::set_default_logger(std::move(logger));
}

void add_commands(CLI::App& program, const GlobalOptions& global, Run& run) {
  add_project(program, global, run);
  add_sweep(program, global, run);
  add_merge(program, global, run);
  add_memory(program, global, run);
  add_compare(program, global, run);
  add_recommend(program, global, run);
  add_explain(program, global, run);
  add_layer(program, global, run);
  add_trace(program, global, run);
  add_cost(program, global, run);
  add_calibrate(program, global, run);
  add_validate(program, global, run);
  add_trace_compare(program, global, run);
  add_import(program, global, run);
  add_export(program, global, run);
  add_list(program, global, run);
  add_describe(program, global, run);
  add_shell_words(program, run);
  add_words(program);
}

// Help and the version end a command line as an error does.
int refused(const CLI::App& program, const std::vector<std::string>& arguments,
            const CLI::ParseError& e) {
  const bool is_wrong = e.get_exit_code() != 0;
  if (const auto unknown = is_wrong ? unknown_word(program, arguments) : std::nullopt) {
    std::fprintf(stderr, "%s\n", unknown->c_str());
    return kInputWrong;
  }
  return program.exit(e) == 0 ? kDone : kInputWrong;
}

int run_command(int argc, char** argv) {
  CLI::App program{"stepcast projects the training of large models, without a GPU"};
  program.set_version_flag("--version", version_text());
  program.require_subcommand(1);
  program.fallthrough();
  GlobalOptions global;
  global.command = command_line(argc, argv);
  Run run;
  program.add_option("--data", global.data, "folder with configs/ and hardware_profiles/");
  CLI::Option* verbose =
      program.add_flag("--verbose", global.verbose, "say on standard error what is being done");
  program.add_flag("--quiet", global.quiet, "say nothing on standard error but errors")
      ->excludes(verbose);
  add_commands(program, global, run);
  const std::vector<std::string> arguments =
      with_framework_arguments(with_words_as_options({argv + 1, argv + argc}));
  try {
    program.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11's order
  } catch (const CLI::ParseError& e) {
    return refused(program, arguments, e);
  }
  check_options(program);
  log_to_standard_error(global);
  return run();
}

}  // namespace
}  // namespace stepcast::cli

int main(int argc, char** argv) {
  try {
    return stepcast::cli::run_command(argc, argv);
  } catch (const stepcast::ConfigError& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return stepcast::cli::kInputWrong;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "stepcast: fault: %s\n", e.what());
    return stepcast::cli::kFault;
  }
}
