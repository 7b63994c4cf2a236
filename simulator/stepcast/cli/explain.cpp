// SPDX-License-Identifier: Apache-2.0
// `stepcast explain`.
#include "stepcast/experiment/explain.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "stepcast/cli/commands.hpp"

namespace stepcast::cli {
namespace {

struct Options {
  ExperimentOptions experiment;
  OutputOptions output;
  bool terms = false;
};

int run_explain(const Options& options, const GlobalOptions& global) {
  const DataRoot data = data_root(global);
  Experiment experiment = load_experiment(options.experiment, data);
  const CostModel cost = cost_model(experiment, data);
  const Explanation explanation = explain(experiment, cost);
  const Detail detail = options.terms ? Detail::kTerms : Detail::kDuration;
  const std::string& format = options.output.format;
  write_output(options.output, format == "json"  ? json_text(to_json(explanation, detail))
                               : format == "csv" ? to_csv(explanation, detail)
                                                 : to_text(explanation, detail));
  return explanation.projection.feasible ? kDone : kPlanCannotRun;
}

}  // namespace

void add_explain(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "explain", "each operator of the slowest pipeline rank: count, time, what bounds it");
  auto options = std::make_shared<Options>();
  add_experiment_options(*command, options->experiment);
  add_output_options(*command, options->output, {"text", "json", "csv"});
  command->add_flag("--terms", options->terms, "the parts that each operator's time is made of");
  command->callback([options, &global, &run] {
    run = [options, &global] { return run_explain(*options, global); };
  });
}

}  // namespace stepcast::cli
