// SPDX-License-Identifier: Apache-2.0
// The program: picks the command, and turns the three classes of error into exit codes.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>

#include "cli/commands.hpp"
#include "cli/framework_arguments.hpp"

namespace stepcast::cli {
namespace {

void log_to_standard_error(bool verbose) {
  auto logger = spdlog::stderr_logger_st("stepcast");
  logger->set_pattern("%l: %v");
  logger->set_level(verbose ? spdlog::level::debug : spdlog::level::warn);
  spdlog::set_default_logger(std::move(logger));
}

int run_command(int argc, char** argv) {
  CLI::App program{"stepcast projects the training of large models, without a GPU"};
  program.set_version_flag("--version", "stepcast " STEPCAST_VERSION);
  program.require_subcommand(1);
  program.fallthrough();
  GlobalOptions global;
  Run run;
  program.add_option("--data", global.data, "folder with configs/ and hardware_profiles/");
  program.add_flag("--verbose", global.verbose, "say on standard error what is being done");
  add_project(program, global, run);
  add_sweep(program, global, run);
  add_merge(program, global, run);
  add_memory(program, global, run);
  add_compare(program, global, run);
  add_explain(program, global, run);
  add_layer(program, global, run);
  add_cost(program, global, run);
  add_calibrate(program, global, run);
  add_validate(program, global, run);
  add_import(program, global, run);
  add_export(program, global, run);
  add_list(program, global, run);
  add_describe(program, global, run);
  try {
    std::vector<std::string> arguments = with_framework_arguments({argv + 1, argv + argc});
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
    program.parse(std::move(arguments));
  } catch (const CLI::ParseError& e) {
    return program.exit(e) == 0 ? kDone : kInputWrong;
  }
  log_to_standard_error(global.verbose);
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
