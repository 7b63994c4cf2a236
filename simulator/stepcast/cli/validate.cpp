// SPDX-License-Identifier: Apache-2.0
// `stepcast validate FILE...`.
#include "stepcast/validation/validate.hpp"

#include <CLI/CLI.hpp>

#include "stepcast/cli/commands.hpp"

namespace stepcast::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  std::vector<std::string> backends;
  std::string metric = "all";
  OutputOptions output;
};

bool is_metric(const std::string& metric, const std::string& wanted) {
  const bool memory = metric == "peak_memory_bytes";
  return wanted == "all" || memory == (wanted == "memory");
}

int run_validate(const Options& options, const GlobalOptions& global) {
  const DataRoot data = data_root(global);
  const CostModel cost = cost_model(options.backends, data);
  const std::vector<std::filesystem::path> files(options.files.begin(), options.files.end());
  std::vector<ValidationRow> rows = validate_files(files, data, cost);
  std::erase_if(rows, [&options](const ValidationRow& row) {
    return !is_metric(row.metric, options.metric);
  });
  const std::string& format = options.output.format;
  write_output(options.output, format == "json"  ? validation_to_json(rows, STEPCAST_VERSION)
                               : format == "csv" ? validation_to_csv(rows)
                                                 : validation_to_text(rows));
  return kDone;
}

}  // namespace

void add_validate(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command =
      program.add_subcommand("validate", "predicted against measured, for files of measurements");
  auto options = std::make_shared<Options>();
  command->add_option("files", options->files, "files of measurements (JSON lines or CSV)")
      ->required();
  command
      ->add_option("--backend", options->backends, "choose a backend: gemm=roofline (repeatable)")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--metric", options->metric, "which quantities")
      ->check(CLI::IsMember({"all", "throughput", "memory"}))
      ->capture_default_str();
  add_output_options(*command, options->output, {"text", "json", "csv"});
  command->callback([options, &global, &run] {
    run = [options, &global] { return run_validate(*options, global); };
  });
}

}  // namespace stepcast::cli
