// SPDX-License-Identifier: Apache-2.0
// `stepcast project` and `stepcast memory`.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/commands.hpp"
#include "cli/number_option.hpp"
#include "cli/waiting_line.hpp"

namespace stepcast::cli {
namespace {

struct ProjectOptions {
  ExperimentOptions experiment;
  PriceOptions prices;
  OutputOptions output;
  ScalingSettings scaling;
};

constexpr std::string_view kEverySchedule = "plan.schedule=all";

// Whether --schedule all was given; the option is taken out of `options`, for it names no schedule.
bool take_all_schedules(ExperimentOptions& options) {
  const auto is_all = [](const Assignment& set) { return set.text == kEverySchedule; };
  return std::erase_if(options.direct, is_all) > 0;
}

std::vector<Assignment> given_settings(const ExperimentOptions& options) {
  std::vector<Assignment> given = options.direct;
  const std::vector<Assignment> set = told_under("--set", options.settings);
  given.insert(given.end(), set.begin(), set.end());
  return given;
}

// What `option` answers is of steps: there is no run in it, and no setting of what it varies.
void check_steps_alone(const ProjectOptions& options, const std::string& option,
                       const std::vector<std::string>& varied) {
  Diagnostics diagnostics;
  for (const Assignment& setting : given_settings(options.experiment)) {
    const std::string key = setting.text.substr(0, setting.text.find('='));
    if (key == "training.tokens" || std::ranges::find(varied, key) != varied.end()) {
      diagnostics.error({setting.place, 0, 0},
                        "is not of '" + option + "', which compares steps; leave one of them out");
    }
  }
  for (const std::string& price : options.prices.prices) {
    diagnostics.error({"--price " + price, 0, 0},
                      "is of a run; '" + option + "' compares steps; leave one of them out");
  }
  diagnostics.throw_if_any();
}

// What a curve needs, and what else it takes in vain.
void check_curve(const ProjectOptions& options, bool all_schedules) {
  const ScalingSettings& scaling = options.scaling;
  Diagnostics diagnostics;
  if (scaling.threads != 0 && !scaling.best_plan) {
    diagnostics.error({"--threads", 0, 0},
                      std::string("nothing is searched; add ") +
                          (scaling.from == 0 ? "--gpus-from 64 --gpus-to 1024 " : "") +
                          "--best-plan");
  } else if (scaling.from == 0) {
    diagnostics.error({scaling.to == 0 ? "--best-plan" : "--gpus-to", 0, 0},
                      "is of a scaling curve; add --gpus-from 64 --gpus-to 1024");
  }
  if (scaling.from != 0 && scaling.to == 0) {
    diagnostics.error({"--gpus-from", 0, 0}, "says where a curve begins; add --gpus-to 1024");
  }
  if (all_schedules && scaling.from != 0) {
    diagnostics.error({"--schedule all", 0, 0}, "is not of a scaling curve; leave one of them out");
  }
  diagnostics.throw_if_any();
  check_steps_alone(options, "--gpus-from", {});
}

int run_scaling(ProjectOptions options, const GlobalOptions& global) {
  check_curve(options, take_all_schedules(options.experiment));
  const Simulator simulator = simulator_of(global);
  const OptionNames names = {
      {"from", "--gpus-from"}, {"to", "--gpus-to"}, {"threads", "--threads"}};
  const Report report = asked(names, [&] {
    WaitingLine line(global);
    options.scaling.at = [&line](const std::string& what) { line.says(what); };
    return simulator.scaling_report(source_of(options.experiment, simulator), options.scaling,
                                    form_of(options.output, global));
  });
  return answer(options.output, report);
}

int run_project(const ProjectOptions& options, const GlobalOptions& global) {
  const ScalingSettings& scaling = options.scaling;
  if (scaling.from != 0 || scaling.to != 0 || scaling.best_plan || scaling.threads != 0) {
    return run_scaling(options, global);
  }
  const Simulator simulator = simulator_of(global);
  const ReportForm form = form_of(options.output, global);
  ProjectOptions one = options;
  if (take_all_schedules(one.experiment)) {
    check_steps_alone(one, "--schedule all", {"plan.schedule"});
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

void add_scaling_options(CLI::App& command, ScalingSettings& scaling) {
  constexpr Range<std::int64_t> kSizes{1, std::int64_t{1} << 24};
  command
      .add_option("--gpus-from", scaling.from,
                  "instead: the step on so many GPUs, on twice as many, ..., and what takes the "
                  "rate; the batch of a file grows with them unless --gbs is given")
      ->check(whole_number(kSizes));
  command.add_option("--gpus-to", scaling.to, "the most GPUs of such a curve")
      ->check(whole_number(kSizes));
  command.add_flag("--best-plan", scaling.best_plan,
                   "each number of GPUs of a curve with its best plan");
  add_threads_option(command, scaling.threads, "of --best-plan; as many as processors");
}

}  // namespace

void add_project(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "project", "tokens/s/GPU, step time, where the time goes, memory, MFU");
  auto options = std::make_shared<ProjectOptions>();
  add_experiment_options(*command, options->experiment);
  add_tokens_option(*command, options->experiment);
  add_price_options(*command, options->prices);
  add_scaling_options(*command, options->scaling);
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
