// SPDX-License-Identifier: Apache-2.0
// The program: picks the command, and turns the three classes of error into exit codes.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <string_view>
#include <system_error>

#include "built_commit.hpp"
#include "cli/command_words.hpp"
#include "cli/commands.hpp"
#include "cli/common_options.hpp"
#include "cli/option_checks.hpp"
#include "cli/output_file.hpp"
#include "cli/parse_problem.hpp"

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
    std::erase(arguments, "help");
    arguments.emplace_back("--help");
  } else if (!arguments.empty() && arguments.front() == "version") {
    arguments.front() = "--version";
  }
  return arguments;
}

// A word of a command line as a shell takes it.
std::string quoted(const std::string& word) {
  constexpr std::string_view kUnquoted =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:=,+@%";
  if (!word.empty() && word.find_first_not_of(kUnquoted) == std::string::npos) {
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

struct Command {
  std::string_view name;
  void (*add)(CLI::App& program, const GlobalOptions& global, Run& run);
};

// In the order of --help.
constexpr std::array kCommands = {
    Command{"project", add_project},   Command{"sweep", add_sweep},
    Command{"merge", add_merge},       Command{"memory", add_memory},
    Command{"compare", add_compare},   Command{"recommend", add_recommend},
    Command{"explain", add_explain},   Command{"diagnose", add_diagnose},
    Command{"layer", add_layer},       Command{"trace", add_trace},
    Command{"cost", add_cost},         Command{"calibrate", add_calibrate},
    Command{"validate", add_validate}, Command{"trace-compare", add_trace_compare},
    Command{"import", add_import},     Command{"export", add_export},
    Command{"list", add_list},         Command{"describe", add_describe},
};

bool names(const std::vector<std::string>& arguments, std::string_view command) {
  return std::ranges::find(arguments, command) != arguments.end();
}

// The commands that the arguments name; all of them, which takes two milliseconds, where they name
// none, and for what speaks of all of them.
void add_commands(CLI::App& program, const GlobalOptions& global, Run& run,
                  const std::vector<std::string>& arguments) {
  const bool of_all = names(arguments, "completion") || names(arguments, "manual") ||
                      std::ranges::none_of(kCommands, [&](const Command& known) {
                        return names(arguments, known.name);
                      });
  for (const Command& command : kCommands) {
    if (of_all || names(arguments, command.name)) {
      command.add(program, global, run);
    }
  }
  if (of_all) {
    add_shell_words(program, run);
  }
  add_words(program);
}

// The exit code of a command line with a word that nobody knows, which is told; nothing where all
// are known.
std::optional<int> unknown(const CLI::App& program, const std::vector<std::string>& arguments) {
  const std::optional<std::string> problem = unknown_word(program, arguments);
  if (!problem) {
    return std::nullopt;
  }
  std::fprintf(stderr, "%s\n", problem->c_str());
  return kInputWrong;
}

int refused(const CLI::App& program, const std::vector<std::string>& arguments,
            const CLI::ParseError& e) {
  if (const std::optional<int> code = unknown(program, arguments)) {
    return *code;
  }
  throw parse_problem(e, program);
}

constexpr const char* kWhereToBegin =
    "stepcast projects the training of large models, without a GPU. Begin with\n"
    "\n"
    "  stepcast project llama3.1_8b --gpu h100_sxm --gpus 8     how fast it trains, and why\n"
    "  stepcast compare llama3.1_70b --gpu h100_sxm --gpu mi300x --gpus 64 --best-plan\n"
    "  stepcast recommend llama3.1_70b --gpu mi300x --tokens 1T --days 30     how many GPUs\n"
    "  stepcast import megatron script.sh --gpu h100_sxm --out experiment.yaml     your own run\n"
    "\n"
    "  stepcast list models, stepcast list gpus     what there is; any .yaml file of your own, "
    "too\n"
    "  stepcast describe NAME     a model, a GPU, a schedule, a backend\n"
    "  stepcast --help     all commands; stepcast COMMAND --help its options\n";

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
  const ForeignArguments foreign =
      with_framework_arguments(with_words_as_options({argv + 1, argv + argc}));
  const std::vector<std::string>& arguments = foreign.arguments;
  global.recognized = foreign.known;
  if (arguments.empty()) {
    std::fputs(kWhereToBegin, stdout);
    check_standard_output();
    return kDone;
  }
  add_commands(program, global, run, arguments);
  try {
    program.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11's order
  } catch (const CLI::Success& asked) {
    if (const std::optional<int> code_of_unknown = unknown(program, arguments)) {
      return *code_of_unknown;
    }
    const int code = program.exit(asked);
    check_standard_output();
    return code;
  } catch (const CLI::ParseError& e) {
    return refused(program, arguments, e);
  }
  global.read = check_options(program);
  log_to_standard_error(global);
  return run();
}

}  // namespace
}  // namespace stepcast::cli

int main(int argc, char** argv) {
  try {
    stepcast::cli::hold_standard_streams();
    // A limit of file sizes is a fault to report, like a full disk, and not the end of the program.
    std::signal(SIGXFSZ, SIG_IGN);
    return stepcast::cli::run_command(argc, argv);
  } catch (const stepcast::ConfigError& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return stepcast::cli::kInputWrong;
  } catch (const stepcast::InputError& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return stepcast::cli::kInputWrong;
  } catch (const std::bad_alloc&) {
    std::fputs("stepcast: fault: the system gives no more memory; fewer --threads need less\n",
               stderr);
    return stepcast::cli::kFault;
  } catch (const std::filesystem::filesystem_error& e) {
    // A name that cannot be looked at: too long, links in a circle, a folder that may not be
    // entered.
    std::fprintf(stderr, "%s: error: cannot be looked at: %s\n", e.path1().c_str(),
                 e.code().message().c_str());
    return stepcast::cli::kInputWrong;
  } catch (const std::system_error& e) {
    const bool no_thread = e.code() == std::errc::resource_unavailable_try_again;
    std::fprintf(stderr, "stepcast: fault: %s%s\n", e.what(),
                 no_thread ? ": the system starts no more threads; give --threads 1" : "");
    return stepcast::cli::kFault;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "stepcast: fault: %s\n", e.what());
    return stepcast::cli::kFault;
  }
}
