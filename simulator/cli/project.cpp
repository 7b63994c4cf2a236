// SPDX-License-Identifier: Apache-2.0
// `stepcast project` and `stepcast memory`.
#include <CLI/CLI.hpp>

#include "cli/commands.hpp"

namespace stepcast::cli {
namespace {

struct ProjectOptions {
  ExperimentOptions experiment;
  PriceOptions prices;
  OutputOptions output;
};

constexpr std::string_view kEverySchedule = "plan.schedule=all";

// Whether --schedule all was given; the option is taken out of `options`, for it names no schedule.
bool take_all_schedules(ExperimentOptions& options) {
  const auto is_all = [](const Assignment& set) { return set.text == kEverySchedule; };
  return std::erase_if(options.direct, is_all) > 0;
}

// Schedules are compared by their step: there is no run in it, and no schedule of its own.
void check_all_schedules(const ProjectOptions& options) {
  std::vector<Assignment> given = options.experiment.direct;
  const std::vector<Assignment> set = told_under("--set", options.experiment.settings);
  given.insert(given.end(), set.begin(), set.end());
  Diagnostics diagnostics;
  for (const Assignment& setting : given) {
    if (setting.text.starts_with("training.tokens=") ||
        setting.text.starts_with("plan.schedule=")) {
      diagnostics.error({setting.place, 0, 0},
                        "is not of '--schedule all', which compares the step of every schedule; "
                        "leave one of them out");
    }
  }
  for (const std::string& price : options.prices.prices) {
    diagnostics.error({"--price " + price, 0, 0},
                      "is of a run; '--schedule all' compares the step of every schedule; leave "
                      "one of them out");
  }
  diagnostics.throw_if_any();
}

int run_project(const ProjectOptions& options, const GlobalOptions& global) {
  const Simulator simulator = simulator_of(global);
  const ReportForm form = form_of(options.output, global);
  ProjectOptions one = options;
  if (take_all_schedules(one.experiment)) {
    check_all_schedules(one);
    return answer(options.output,
                  simulator.schedules_report(source_of(one.experiment, simulator), form));
  }
  return asked({{"currency", "--currency"}}, [&] {
    return answer(options.output, simulator.project_report(source_of(one.experiment, simulator),
                                                           form, {prices_of(options.prices)}));
  });
}

int run_memory(const ProjectOptions& options, const GlobalOptions& global) {
  const Simulator simulator = simulator_of(global);
  return answer(options.output, simulator.memory_report(source_of(options.experiment, simulator),
                                                        form_of(options.output, global)));
}

}  // namespace

void add_project(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "project", "tokens/s/GPU, step time, where the time goes, memory, MFU");
  auto options = std::make_shared<ProjectOptions>();
  add_experiment_options(*command, options->experiment);
  add_tokens_option(*command, options->experiment);
  add_price_options(*command, options->prices);
  add_output_options(*command, options->output, {"text", "json", "csv"});
  add_page_option(*command, options->output);
  on_choice(*command, run, [options, &global] { return run_project(*options, global); });
}

void add_memory(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command =
      program.add_subcommand("memory", "memory of each pipeline stage, against the capacity");
  auto options = std::make_shared<ProjectOptions>();
  add_experiment_options(*command, options->experiment);
  add_output_options(*command, options->output, {"text", "json", "csv"});
  on_choice(*command, run, [options, &global] { return run_memory(*options, global); });
}

}  // namespace stepcast::cli
