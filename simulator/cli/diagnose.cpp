// SPDX-License-Identifier: Apache-2.0
// `stepcast diagnose`: why a run is slower than its projection.
#include <CLI/CLI.hpp>

#include "cli/commands.hpp"

namespace stepcast::cli {
namespace {

struct DiagnoseOptions {
  ExperimentOptions experiment;
  DiagnoseSettings measured;
  std::string points_file;
  OutputOptions output;
};

int run_diagnose(const DiagnoseOptions& options, const GlobalOptions& global) {
  const Simulator simulator = simulator_of(global);
  const ExperimentSource experiment = source_of(options.experiment, simulator);
  DiagnoseSettings settings = options.measured;
  if (!options.points_file.empty()) {
    settings.points_file = TextSource{options.points_file};
  }
  const Report report = asked({{"measured", "--measured"},
                               {"step", "--step"},
                               {"tflops", "--tflops"},
                               {"mfu", "--mfu"},
                               {"memory", "--memory"},
                               {"point", "--point"},
                               {"traces", "--trace"},
                               {"page", "--html"},
                               {"out_of_memory", "--out-of-memory"},
                               {"tried", "--tried"}},
                              [&] {
                                return simulator.diagnose_report(experiment, settings,
                                                                 form_of(options.output, global));
                              });
  return answer(options.output, report);
}

}  // namespace

void add_diagnose(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "diagnose", "why a run is slower than projected: causes with their sizes, how to check them");
  auto options = std::make_shared<DiagnoseOptions>();
  // --measured is a rate here; files of operators are given by --backend gemm=measured:FILE.
  add_setting_options(*command, options->experiment);
  add_work_options(*command, options->experiment);
  add_site_options(*command, options->experiment, {});
  DiagnoseSettings& given = options->measured;
  command->add_option("--measured", given.measured, "tokens/s of one GPU, 200tok/s");
  command->add_option("--step", given.step, "instead: a step, 13s");
  command->add_option("--tflops", given.tflops, "instead: TFLOP/s of the model of one GPU, 120");
  command->add_option("--mfu", given.mfu, "instead: MFU in per cent, 9.8");
  command->add_option("--memory", given.memory,
                      "and the most that a GPU's allocator gave out, 43.5GiB");
  add_repeatable(
      *command, "--point", given.points,
      "and of the same with other settings, plan.tp=2:1.93s; one cause must explain all");
  take_standard_input(*command->add_option(
      "--points", options->points_file,
      "and of a table (CSV): columns called by keys, and measured, step, tflops, mfu, memory"));
  take_standard_input(
      *command->add_option("--trace", given.traces,
                           "and traces of its step by PyTorch's profiler: what a cause moves in it "
                           "counts for or against "
                           "the cause; without a figure the traced step is what was measured"));
  command->add_flag("--out-of-memory", given.out_of_memory,
                    "instead: what stands at the peak, and what each setting would save");
  command->add_option("--tried", given.tried, "what the request asked for that failed, 2GiB");
  add_output_options(*command, options->output, {"text", "json", "csv"});
  add_page_option(*command, options->output);
  on_choice(*command, run, [options, &global] { return run_diagnose(*options, global); });
}

}  // namespace stepcast::cli
