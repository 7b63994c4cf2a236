// SPDX-License-Identifier: Apache-2.0
// `stepcast calibrate FILE... --gpu NAME`; of traces of a profiler each shape is a row.
#include <CLI/CLI.hpp>

#include "cli/commands.hpp"

namespace stepcast::cli {
namespace {

struct CalibrateOptions {
  CalibrateSettings settings;
  std::vector<std::string> backends;
  OutputOptions output;
};

int run_calibrate(const CalibrateOptions& options, const GlobalOptions& global) {
  CalibrateSettings settings = options.settings;
  settings.backends = told_under("--backend", options.backends);
  const Calibrated calibrated = asked({{"gpus", "--gpu"}, {"date", "--date"}},
                                      [&] { return simulator_of(global).calibrate(settings); });
  if (!options.output.out.empty() || !calibrated.refused.empty()) {
    write_file("", calibrated.residuals);
  }
  if (!calibrated.refused.empty()) {
    throw ConfigError({"measurements", 0, 0}, calibrated.refused);
  }
  write_file(options.output.out, calibrated.constants);
  return kDone;
}

}  // namespace

void add_calibrate(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "calibrate", "fit a GPU's constants of kernels, collectives or exchanges to measurements");
  auto options = std::make_shared<CalibrateOptions>();
  take_standard_input(
      *command
           ->add_option("files", options->settings.files, "measured kernels, or PyTorch's traces")
           ->required());
  add_repeatable(*command, "--gpu", options->settings.gpus,
                 "the GPU whose rows and constants are taken, or its own file; parts of one die "
                 "are fitted together")
      ->required();
  command
      ->add_option("--of", options->settings.of,
                   "which constants: kernels (default), architectures, collectives, exchanges or "
                   "libraries")
      ->check(CLI::IsMember({"architectures", "collectives", "exchanges", "kernels", "libraries"}));
  command
      ->add_option("--constant", options->settings.constants,
                   "fit this constant, e.g. gemm.start_up (repeatable); default: all")
      ->allow_extra_args(false)
      ->take_all();
  add_backends_option(*command, options->backends);
  command->add_option("--date", options->settings.date,
                      "date to write into the file; default: today");
  add_out_option(*command, options->output.out,
                 "write the constants here and the residuals to standard output");
  on_choice(*command, run, [options, &global] { return run_calibrate(*options, global); });
}

}  // namespace stepcast::cli
