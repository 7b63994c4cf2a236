// SPDX-License-Identifier: Apache-2.0
// `stepcast explain`.
#include <CLI/CLI.hpp>

#include "cli/commands.hpp"

namespace stepcast::cli {
namespace {

struct ExplainOptions {
  ExperimentOptions experiment;
  std::string other;  // a second experiment, to be told apart from the first
  OutputOptions output;
  bool terms = false;
  bool provenance = false;
};

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
  const Simulator simulator = simulator_of(global);
  const ReportForm form = form_of(options.output, global);
  const ExperimentSource first = source_of(options.experiment, simulator);
  if (options.provenance) {
    return answer(options.output, simulator.provenance_report(first, form));
  }
  if (!options.other.empty()) {
    ExperimentOptions other = options.experiment;
    other.file = options.other;
    return answer(options.output,
                  simulator.explain_report(first, source_of(other, simulator), form));
  }
  return answer(options.output,
                simulator.explain_report(
                    first, form, options.terms ? OperatorDetail::kTerms : OperatorDetail::kTimes));
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
  on_choice(*command, run, [options, &global] { return run_explain(*options, global); });
}

}  // namespace stepcast::cli
