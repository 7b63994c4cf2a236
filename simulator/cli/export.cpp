// SPDX-License-Identifier: Apache-2.0
// `stepcast export FRAMEWORK EXPERIMENT`: the files with which a framework runs an experiment.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/commands.hpp"
#include "frameworks/framework_table.hpp"

namespace stepcast::cli {
namespace {

struct ExportOptions {
  ExperimentOptions experiment;
  std::string out;
};

int run_export(const FrameworkInfo& framework, const ExportOptions& options,
               const GlobalOptions& global) {
  const DataRoot data = data_root(global);
  const ExperimentTree tree = settled_tree(options.experiment, data);
  const std::vector<ExportedFile> files = exported(framework, tree.root, tree.folder, data);
  if (!global.quiet) {
    std::fputs(told_of_export(files).c_str(), stderr);
  }
  if (options.out.empty()) {
    write_output({}, files.front().text);
    return kDone;
  }
  std::error_code error;
  std::filesystem::create_directories(options.out, error);
  Diagnostics diagnostics;
  std::vector<OutputOptions> outputs(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    outputs[i].out = (std::filesystem::path(options.out) / files[i].name).string();
    if (const std::string why = global.read.why_kept(outputs[i].out); !why.empty()) {
      diagnostics.error({"--out " + options.out, 0, 0},
                        "writes '" + files[i].name + "' in it, which " + why);
    }
  }
  diagnostics.throw_if_any();
  for (std::size_t i = 0; i < files.size(); ++i) {
    write_output(outputs[i], files[i].text);
  }
  return kDone;
}

}  // namespace

void add_export(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command =
      program.add_subcommand("export", "the files with which a framework runs an experiment");
  command->require_subcommand(1);
  for (const FrameworkInfo& framework : frameworks()) {
    if (framework.export_to == nullptr) {
      continue;
    }
    CLI::App* to =
        command->add_subcommand(std::string(framework.name), std::string(framework.writes));
    to->footer("Example: stepcast export " + std::string(framework.name) + " experiment.yaml");
    auto options = std::make_shared<ExportOptions>();
    add_experiment_options(*to, options->experiment);
    to->add_option("--out", options->out, "a folder for the files, instead of standard output");
    to->callback([options, &framework, &global, &run] {
      run = [options, &framework, &global] { return run_export(framework, *options, global); };
    });
  }
}

}  // namespace stepcast::cli
