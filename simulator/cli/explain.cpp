// SPDX-License-Identifier: Apache-2.0
// `stepcast explain`.
#include "stepcast/experiment/explain.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/page_output.hpp"
#include "pages/page_charts.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/experiment/provenance_shares.hpp"
#include "stepcast/report/difference_report.hpp"
#include "stepcast/report/operator_report.hpp"
#include "stepcast/report/provenance_report.hpp"

namespace stepcast::cli {
namespace {

struct ExplainOptions {
  ExperimentOptions experiment;
  std::string other;  // a second experiment, to be told apart from the first
  OutputOptions output;
  bool terms = false;
  bool provenance = false;
};

Explanation explanation_of(const ExperimentOptions& options, const DataRoot& data) {
  Experiment experiment = load_experiment(options, data);
  const CostModel cost = cost_model(experiment, data);
  return explain(experiment, cost);
}

int run_difference(const ExplainOptions& options, const GlobalOptions& global,
                   const DataRoot& data) {
  ExperimentOptions other = options.experiment;
  other.file = options.other;
  const Explanation first = explanation_of(options.experiment, data);
  const Explanation second = explanation_of(other, data);
  const std::string& format = options.output.format;
  write_output(options.output, global,
               format == "json"  ? json_text(difference_to_json(first, second))
               : format == "csv" ? difference_to_csv(first, second)
                                 : difference_to_text(first, second),
               {PageKind::kDifference,
                page_title(first.projection) + " and " + page_title(second.projection),
                [&first, &second] { return json_text(difference_to_json(first, second)); },
                {}});
  return first.projection.feasible && second.projection.feasible ? kDone : kPlanCannotRun;
}

int run_provenance(const ExplainOptions& options, const GlobalOptions& global,
                   const DataRoot& data) {
  Experiment experiment = load_experiment(options.experiment, data);
  const CostModel cost = cost_model(experiment, data);
  Projection projection = project(experiment, cost);
  projection.provenance = provenance_shares(experiment, projection, cost);
  const std::string& format = options.output.format;
  write_output(options.output, global,
               format == "json"  ? json_text(constants_to_json(projection))
               : format == "csv" ? constants_to_csv(projection)
                                 : constants_to_text(projection),
               {PageKind::kConstants,
                page_title(projection) + ": what the time rests on",
                [&projection] { return json_text(constants_to_json(projection)); },
                {}});
  return projection.feasible ? kDone : kPlanCannotRun;
}

// What tells one experiment more is not lost in silence beside a second one.
void check_options(const ExplainOptions& options) {
  Diagnostics diagnostics;
  if (options.terms && options.provenance) {
    diagnostics.error({"--terms", 0, 0}, "is of operators, which --provenance leaves out");
  }
  for (const auto& [option, given] :
       {std::pair("--terms", options.terms), std::pair("--provenance", options.provenance)}) {
    if (given && !options.other.empty()) {
      diagnostics.error({option, 0, 0}, "is of one experiment; leave out " + options.other);
    }
  }
  diagnostics.throw_if_any();
}

int run_explain(const ExplainOptions& options, const GlobalOptions& global) {
  check_options(options);
  const DataRoot data = data_root(global);
  if (options.provenance) {
    return run_provenance(options, global, data);
  }
  if (!options.other.empty()) {
    return run_difference(options, global, data);
  }
  Experiment experiment = load_experiment(options.experiment, data);
  const CostModel cost = cost_model(experiment, data);
  const Explanation explanation = explain(experiment, cost);
  const Detail detail = options.terms ? Detail::kTerms : Detail::kDuration;
  const std::string& format = options.output.format;
  write_output(options.output, global,
               format == "json"  ? json_text(to_json(explanation, detail))
               : format == "csv" ? to_csv(explanation, detail)
                                 : to_text(explanation, detail),
               {PageKind::kExplanation, page_title(explanation.projection),
                [&] { return json_text(to_json(explanation, detail)); },
                [&] { return explanation_charts(experiment, explanation, cost); }});
  return explanation.projection.feasible ? kDone : kPlanCannotRun;
}

}  // namespace

void add_explain(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "explain",
      "what bounds the step: operators, critical path, sensitivities; or why two differ");
  auto options = std::make_shared<ExplainOptions>();
  add_experiment_options(*command, options->experiment);
  command->add_option("other", options->other,
                      "a second experiment: where the time of the two differs");
  add_output_options(*command, options->output, {"text", "json", "csv"});
  add_page_option(*command, options->output);
  command->add_flag("--terms", options->terms, "the parts that each operator's time is made of");
  command->add_flag("--provenance", options->provenance,
                    "instead: the constants that the step's time rests on, where each comes from "
                    "and its share");
  command->callback([options, &global, &run] {
    run = [options, &global] { return run_explain(*options, global); };
  });
}

}  // namespace stepcast::cli
