// SPDX-License-Identifier: Apache-2.0
// `stepcast validate FILE...`.
#include "stepcast/validation/validate.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/page_output.hpp"
#include "importers/measurement_files.hpp"
#include "stepcast/report/timed_runs_report.hpp"
#include "stepcast/report/validation_report.hpp"
#include "stepcast/validation/plan_regret.hpp"
#include "stepcast/validation/sku_ratios.hpp"
#include "stepcast/validation/timed_runs.hpp"
#include "traces/step_trace.hpp"

namespace stepcast::cli {
namespace {

struct ValidateOptions {
  std::vector<std::string> files;
  std::vector<std::string> backends;
  std::string metric = "all";
  std::string experiment;
  bool baseline = false;
  bool regret = false;
  bool sku_ratios = false;
  OutputOptions output;
};

bool is_metric(Metric metric, const std::string& wanted) {
  const bool memory = metric == Metric::kPeakMemory || metric == Metric::kFits;
  return wanted == "all" || memory == (wanted == "memory");
}

// What takes several runs at a time: the choice among plans, the ratio of two GPUs.
int run_on_groups(const ValidateOptions& options, const std::vector<std::filesystem::path>& files,
                  const DataRoot& data, const CostModel& cost) {
  const std::string& format = options.output.format;
  if (format != "text" && format != "json") {
    throw ConfigError({"--format " + format, 0, 0},
                      "is not there with --regret and --sku-ratios; give text or json");
  }
  const bool json = format == "json";
  const std::vector<TimedRun> runs = timed_runs(files, data, cost, all_importers());
  if (options.regret) {
    write_report(options.output, json ? json_text(regret_to_json(runs)) : regret_to_text(runs));
  } else {
    const std::vector<SkuPair> pairs = sku_pairs(runs);
    write_report(options.output,
                 json ? json_text(sku_pairs_to_json(pairs)) : sku_pairs_to_text(pairs));
  }
  return kDone;
}

int run_validate(const ValidateOptions& options, const GlobalOptions& global) {
  const DataRoot data = data_root(global);
  const CostModel cost = cost_model(options.backends, data);
  const std::vector<std::filesystem::path> files(options.files.begin(), options.files.end());
  if (options.regret || options.sku_ratios) {
    return run_on_groups(options, files, data, cost);
  }
  std::optional<Experiment> of_traces;
  if (!options.experiment.empty()) {
    if (std::none_of(files.begin(), files.end(), is_step_trace)) {
      throw ConfigError({"--experiment " + options.experiment, 0, 0},
                        "none of the files is a profiler trace, which it is for");
    }
    of_traces = load_experiment(std::filesystem::path(options.experiment), {}, data);
  }
  std::vector<ValidationRow> rows = validate_files(files, data, cost, all_importers(), of_traces);
  const bool compared = std::any_of(
      rows.begin(), rows.end(), [](const ValidationRow& row) { return row.predicted.has_value(); });
  std::erase_if(rows, [&options](const ValidationRow& row) {
    return !is_metric(row.metric, options.metric);
  });
  const std::string& format = options.output.format;
  write_report(options.output,
               format == "json"  ? validation_to_json(rows, STEPCAST_VERSION)
               : format == "csv" ? validation_to_csv(rows)
               : format == "accuracy"
                   ? validation_to_accuracy(rows)
                   : validation_to_text(rows, options.baseline ? ErrorBaseline::kConstantRate
                                                               : ErrorBaseline::kNone));
  return compared ? kDone : kInputWrong;
}

}  // namespace

void add_validate(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command =
      program.add_subcommand("validate", "predicted against measured, for files of measurements");
  auto options = std::make_shared<ValidateOptions>();
  take_standard_input(*command
                           ->add_option("files", options->files,
                                        "files of measurements (JSON lines, CSV, profiler traces)")
                           ->required());
  command
      ->add_option("--backend", options->backends, "choose a backend: gemm=roofline (repeatable)")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--experiment", options->experiment,
                      "what the profiler traces among the files are of");
  command->add_flag("--baseline", options->baseline,
                    "beside each group of runs: the error of one TFLOP/s for all of them");
  CLI::Option* regret = command->add_flag(
      "--regret", options->regret,
      "of runs that differ in their plans: what the one predicted to be the fastest reaches");
  command
      ->add_flag("--sku-ratios", options->sku_ratios,
                 "of runs of the same work on two GPUs: the ratio of their rates")
      ->excludes(regret);
  command->add_option("--metric", options->metric, "which quantities")
      ->check(CLI::IsMember({"all", "throughput", "memory"}))
      ->capture_default_str();
  add_output_options(*command, options->output, {"text", "json", "csv", "accuracy"});
  command->callback([options, &global, &run] {
    run = [options, &global] { return run_validate(*options, global); };
  });
}

}  // namespace stepcast::cli
