// SPDX-License-Identifier: Apache-2.0
// `stepcast project` and `stepcast memory`.
#include "stepcast/experiment/project.hpp"
#include "stepcast/experiment/accuracy.hpp"
#include "stepcast/experiment/nearest_fit.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/page_output.hpp"
#include "cli/run_options.hpp"
#include "pages/page_charts.hpp"
#include "stepcast/experiment/provenance_shares.hpp"
#include "stepcast/experiment/schedule_comparison.hpp"
#include "stepcast/report/json_report.hpp"
#include "stepcast/report/schedule_report.hpp"
#include "stepcast/report/text_report.hpp"

namespace stepcast::cli {
namespace {

struct ProjectOptions {
  ExperimentOptions experiment;
  PriceOptions prices;
  OutputOptions output;
};

Projection projection_of(const Experiment& experiment, const CostModel& cost,
                         const DataRoot& data) {
  Projection projection = project(experiment, cost);
  projection.expected_error = expected_error(load_accuracy(data), experiment);
  projection.nearest_fit = nearest_fit(projection, experiment, cost);
  return projection;
}

// What an hour of the experiment's GPU costs; it is of a run that the price is asked.
std::optional<GpuHourPrice> price_of(const PriceOptions& options, const Experiment& experiment) {
  const std::string& gpu = experiment.cluster.device.name;
  const auto prices = prices_of(options, {gpu}, "the experiment does not run on");
  if (prices.empty()) {
    return std::nullopt;
  }
  if (!experiment.run) {
    throw ConfigError({"--price " + options.prices.front(), 0, 0},
                      "there is no run to have a price; add --tokens 15T");
  }
  return prices.at(gpu);
}

constexpr std::string_view kEverySchedule = "plan.schedule=all";

// Whether --schedule all was given; the option is taken out of `options`, for it names no schedule.
bool take_all_schedules(ExperimentOptions& options) {
  const auto is_all = [](const Override& set) { return set.assignment == kEverySchedule; };
  return std::erase_if(options.direct, is_all) > 0;
}

// Schedules are compared by their step: there is no run in it, and no schedule of its own.
void check_all_schedules(const ProjectOptions& options) {
  std::vector<Override> given = options.experiment.direct;
  given.insert(given.end(), options.experiment.settings.begin(), options.experiment.settings.end());
  Diagnostics diagnostics;
  for (const Override& set : given) {
    if (set.assignment.starts_with("training.tokens=") ||
        set.assignment.starts_with("plan.schedule=")) {
      diagnostics.error({set.place, 0, 0},
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

int run_comparison(const ProjectOptions& options, const GlobalOptions& global) {
  const DataRoot data = data_root(global);
  Experiment experiment = load_experiment(options.experiment, data);
  const CostModel cost = cost_model(experiment, data);
  std::vector<Projection> projections = compare_schedules(experiment, cost);
  // What the error is expected from, GPU, model and software, is one for all of them.
  const ExpectedError expected = expected_error(load_accuracy(data), experiment);
  for (Projection& projection : projections) {
    projection.expected_error = expected;
  }
  const std::string& format = options.output.format;
  write_output(options.output, global,
               format == "json"  ? json_text(schedules_to_json(projections))
               : format == "csv" ? schedules_to_csv(projections)
                                 : schedules_to_text(projections),
               {PageKind::kSchedules,
                page_title(projections.front()) + ": pipeline schedules",
                [&projections] { return json_text(schedules_to_json(projections)); },
                {}});
  return any_feasible(projections) ? kDone : kPlanCannotRun;
}

int run_project(const ProjectOptions& options, const GlobalOptions& global) {
  ProjectOptions one = options;
  if (take_all_schedules(one.experiment)) {
    check_all_schedules(one);
    return run_comparison(one, global);
  }
  const DataRoot data = data_root(global);
  Experiment settled = load_experiment(one.experiment, data);
  const std::optional<GpuHourPrice> gpu_hour = price_of(options.prices, settled);
  const CostModel cost = cost_model(settled, data);
  Projection projection = projection_of(settled, cost, data);
  projection.gpu_hour = gpu_hour;
  const std::string& format = options.output.format;
  if (format != "csv" || !options.output.html.empty()) {
    projection.provenance = provenance_shares(settled, projection, cost);
  }
  write_output(options.output, global,
               format == "json"  ? json_text(to_json(projection))
               : format == "csv" ? to_csv(projection)
                                 : to_text(projection),
               {PageKind::kProjection, page_title(projection),
                [&projection] { return json_text(to_json(projection)); },
                [&] { return projection_charts(settled, projection, cost); }});
  return projection.feasible ? kDone : kPlanCannotRun;
}

int run_memory(const ProjectOptions& options, const GlobalOptions& global) {
  const DataRoot data = data_root(global);
  Experiment experiment = load_experiment(options.experiment, data);
  const CostModel cost = cost_model(experiment, data);
  const Projection projection = projection_of(experiment, cost, data);
  const std::string& format = options.output.format;
  write_report(options.output, format == "json"  ? json_text(memory_to_json(projection))
                               : format == "csv" ? memory_to_csv(projection)
                                                 : memory_to_text(projection));
  return projection.feasible ? kDone : kPlanCannotRun;
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
  command->callback([options, &global, &run] {
    run = [options, &global] { return run_project(*options, global); };
  });
}

void add_memory(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command =
      program.add_subcommand("memory", "memory of each pipeline stage, against the capacity");
  auto options = std::make_shared<ProjectOptions>();
  add_experiment_options(*command, options->experiment);
  add_output_options(*command, options->output, {"text", "json", "csv"});
  command->callback([options, &global, &run] {
    run = [options, &global] { return run_memory(*options, global); };
  });
}

}  // namespace stepcast::cli
