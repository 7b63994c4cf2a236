// SPDX-License-Identifier: Apache-2.0
// `stepcast validate FILE...`.
#include <CLI/CLI.hpp>

#include "cli/commands.hpp"

namespace stepcast::cli {
namespace {

struct ValidateOptions {
  ValidateSettings settings;
  std::vector<std::string> backends;
  bool regret = false;
  bool sku_ratios = false;
  OutputOptions output;
};

// Forms that are files of the data folder, or lines, and no report of groups.
bool is_of_rows(const std::string& format) {
  return format == "csv" || format == "accuracy" || format == "published";
}

// What is printed, whose forms are not the same.
ValidateSettings::Of what(const ValidateOptions& options) {
  using Of = ValidateSettings::Of;
  const std::string& format = options.output.format;
  if (!options.regret && !options.sku_ratios) {
    return format == "accuracy"    ? Of::kAccuracy
           : format == "published" ? Of::kPublished
                                   : Of::kErrors;
  }
  if (is_of_rows(format)) {
    throw ConfigError({"--format " + format, 0, 0},
                      "is not there with --regret and --sku-ratios; give text or json");
  }
  return options.regret ? Of::kRegret : Of::kSkuRatios;
}

// The page, and the report that it shows, are of groups of runs: what asks for another one is not
// lost in silence beside it.
void check_options(const ValidateOptions& options) {
  const std::string given = options.settings.groups        ? "--groups"
                            : !options.output.html.empty() ? "--html"
                                                           : "";
  if (given.empty()) {
    return;
  }
  const std::string& format = options.output.format;
  Diagnostics diagnostics;
  for (const auto& [option, is_there] :
       {std::pair<std::string, bool>("--regret", options.regret),
        std::pair<std::string, bool>("--sku-ratios", options.sku_ratios),
        std::pair<std::string, bool>("--baseline", options.settings.baseline),
        std::pair<std::string, bool>("--format " + format, is_of_rows(format))}) {
    if (is_there) {
      diagnostics.error({option, 0, 0}, "is not of groups of runs, which " + given +
                                            " reports on; leave one of the two out");
    }
  }
  diagnostics.throw_if_any();
}

int run_validate(const ValidateOptions& options, const GlobalOptions& global) {
  check_options(options);
  ValidateSettings settings = options.settings;
  settings.backends = told_under("--backend", options.backends);
  settings.of = what(options);
  const Report report = asked({{"experiment", "--experiment"}}, [&] {
    return simulator_of(global).validate_report(settings, form_of(options.output, global));
  });
  write_report(options.output, report);
  return report.feasible ? kDone : kInputWrong;
}

}  // namespace

void add_validate(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command =
      program.add_subcommand("validate", "predicted against measured, for files of measurements");
  auto options = std::make_shared<ValidateOptions>();
  take_standard_input(*command
                           ->add_option("files", options->settings.files,
                                        "files of measurements (JSON lines, CSV, profiler traces)")
                           ->required());
  add_backends_option(*command, options->backends);
  command->add_option("--experiment", options->settings.experiment,
                      "what the profiler traces among the files are of");
  command->add_flag("--baseline", options->settings.baseline,
                    "beside each group of runs: the error of one TFLOP/s for all of them");
  CLI::Option* regret = command->add_flag(
      "--regret", options->regret,
      "of runs that differ in their plans: what the one predicted to be the fastest reaches");
  command
      ->add_flag("--sku-ratios", options->sku_ratios,
                 "of runs of the same work on two GPUs: the ratio of their rates")
      ->excludes(regret);
  command->add_option("--metric", options->settings.metric, "which quantities")
      ->check(CLI::IsMember({"all", "throughput", "memory"}))
      ->capture_default_str();
  CLI::Option* groups = command->add_flag(
      "--groups", options->settings.groups,
      "runs by source, GPU, family, software, format and population, and not row by row");
  command
      ->add_option("--against", options->settings.against,
                   "an earlier report of --groups in JSON: what became worse since")
      ->needs(groups);
  add_output_options(*command, options->output, {"text", "json", "csv", "accuracy", "published"});
  add_page_option(*command, options->output);
  on_choice(*command, run, [options, &global] { return run_validate(*options, global); });
}

}  // namespace stepcast::cli
