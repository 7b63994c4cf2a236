// SPDX-License-Identifier: Apache-2.0
// `stepcast export FRAMEWORK EXPERIMENT`: the files with which a framework runs an experiment.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "cli/commands.hpp"

namespace stepcast::cli {
namespace {

struct ExportOptions {
  ExperimentOptions experiment;
  std::string out;
};

int run_export(const std::string& framework, const ExportOptions& options,
               const GlobalOptions& global) {
  const Simulator simulator = simulator_of(global);
  const Exported exported =
      simulator.export_files(framework, source_of(options.experiment, simulator));
  if (!global.quiet) {
    std::fputs(exported.remarks.c_str(), stderr);
  }
  if (options.out.empty()) {
    write_file("", exported.files.front().second);
    return kDone;
  }
  const std::filesystem::path folder(options.out);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  Diagnostics diagnostics;
  for (const auto& [name, text] : exported.files) {
    if (const std::string why = global.read.why_kept(folder / name); !why.empty()) {
      diagnostics.error({"--out " + options.out, 0, 0},
                        "writes '" + name + "' in it, which " + why);
    }
  }
  diagnostics.throw_if_any();
  for (const auto& [name, text] : exported.files) {
    write_file((folder / name).string(), text);
  }
  return kDone;
}

}  // namespace

void add_export(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command =
      program.add_subcommand("export", "the files with which a framework runs an experiment");
  command->require_subcommand(1);
  for (const Framework& framework : Simulator::frameworks()) {
    if (framework.writes.empty()) {
      continue;
    }
    CLI::App* to = command->add_subcommand(framework.name, framework.writes);
    to->footer("Example: stepcast export " + framework.name + " experiment.yaml");
    auto options = std::make_shared<ExportOptions>();
    add_experiment_options(*to, options->experiment);
    to->add_option("--out", options->out, "a folder for the files, instead of standard output");
    on_choice(*to, run, [options, name = framework.name, &global] {
      return run_export(name, *options, global);
    });
  }
}

}  // namespace stepcast::cli
