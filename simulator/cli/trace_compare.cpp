// SPDX-License-Identifier: Apache-2.0
// `stepcast trace-compare EXPERIMENT TRACE...`.
#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "cli/number_option.hpp"

namespace stepcast::cli {
namespace {

struct TraceCompareOptions {
  ExperimentOptions experiment;
  TraceComparisonSettings settings;
  OutputOptions output;
};

// With --model there is no file of an experiment: all that is named are traces.
void settle_files(TraceCompareOptions& options) {
  if (!options.experiment.model.empty() && !options.experiment.file.empty()) {
    options.settings.traces.insert(options.settings.traces.begin(), options.experiment.file);
    options.experiment.file.clear();
  }
  if (options.settings.traces.empty()) {
    throw ConfigError({"command line", 0, 0}, "give a trace after the experiment");
  }
}

int run_trace_compare(TraceCompareOptions& options, const GlobalOptions& global) {
  settle_files(options);
  const Simulator simulator = simulator_of(global);
  return answer(options.output, simulator.trace_comparison_report(
                                    source_of(options.experiment, simulator), options.settings,
                                    form_of(options.output, global)));
}

}  // namespace

void add_trace_compare(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "trace-compare", "a profiler's trace of a step beside its projection, operator by operator");
  auto options = std::make_shared<TraceCompareOptions>();
  add_experiment_options(*command, options->experiment);
  take_standard_input(*command->add_option(
      "traces", options->settings.traces,
      "traces of PyTorch's profiler (JSON, plain or gzip), - is standard "
      "input, or databases of Nsight Systems and rocprofv3 (SQLite); of several ranks: the "
      "first is compared, and who waits for whom "
      "is told of all"));
  command->add_option("--step", options->settings.step,
                      "a step that the profiler marked, by its number; default: a steady one");
  command
      ->add_option("--rank", options->settings.rank,
                   "the trace's rank among all, where the trace does not say or says wrong")
      ->check(whole_number({0, kAnyWhole.highest}));
  command
      ->add_option("--state", options->settings.state,
                   "after_pause: the machine rested before the step; steady: others ran right "
                   "before; default: as the trace shows")
      ->check(CLI::IsMember({"after_pause", "steady"}));
  add_output_options(*command, options->output, {"text", "json", "csv"});
  add_page_option(*command, options->output);
  on_choice(*command, run, [options, &global] { return run_trace_compare(*options, global); });
}

}  // namespace stepcast::cli
