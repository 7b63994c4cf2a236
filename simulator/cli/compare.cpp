// SPDX-License-Identifier: Apache-2.0
// `stepcast compare`: the same work on several GPUs, nodes, clocks, power limits or software sets.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "stepcast/base/nearest_name.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/experiment/accuracy.hpp"
#include "stepcast/experiment/comparison.hpp"
#include "stepcast/experiment/provenance_shares.hpp"
#include "stepcast/report/comparison_report.hpp"
#include "stepcast/sweep/best_plan.hpp"
#include "stepcast/sweep/sweep_run.hpp"

namespace stepcast::cli {
namespace {

struct CompareOptions {
  ExperimentOptions experiment;
  std::vector<std::string> gpus;
  std::vector<std::int64_t> nodes;
  std::vector<double> clocks_mhz;
  std::vector<std::string> power_limits;
  std::vector<std::string> software;
  std::vector<std::string> prices;  // mi300x=2.50
  bool best_plan = false;
  int threads = 0;
  OutputOptions output;
};

// The options of one column: those of all, and its own.
struct ColumnOptions {
  ExperimentOptions experiment;
  std::vector<std::pair<std::string, std::string>> own;
};

// Every column once for each of `values`; as it is without values.
template <typename Value, typename Set>
void cross(std::vector<ColumnOptions>& columns, const std::vector<Value>& values, const Set& set) {
  if (values.empty()) {
    return;
  }
  std::vector<ColumnOptions> product;
  for (const ColumnOptions& column : columns) {
    for (const Value& value : values) {
      set(product.emplace_back(column), value);
    }
  }
  columns = std::move(product);
}

// The cross product; the GPU varies slowest, then nodes, clock, power limit and software.
std::vector<ColumnOptions> columns_of(const CompareOptions& options) {
  std::vector<ColumnOptions> columns = {{options.experiment, {}}};
  cross(columns, options.gpus, [](ColumnOptions& column, const std::string& gpu) {
    column.experiment.gpu = gpu;
    column.own.emplace_back("gpu", gpu);
  });
  cross(columns, options.nodes, [](ColumnOptions& column, std::int64_t nodes) {
    column.experiment.nodes = nodes;
    column.own.emplace_back("nodes", std::to_string(nodes));
  });
  cross(columns, options.clocks_mhz, [](ColumnOptions& column, double clock) {
    column.experiment.gpu_clock_mhz = clock;
    column.own.emplace_back("gpu_clock_mhz", shortest_text(clock));
  });
  cross(columns, options.power_limits, [](ColumnOptions& column, const std::string& limit) {
    column.experiment.power_limit = limit;
    column.own.emplace_back("power_limit", limit);
  });
  cross(columns, options.software, [](ColumnOptions& column, const std::string& software) {
    column.experiment.direct.emplace_back("software", software);
    column.own.emplace_back("software", software);
  });
  return columns;
}

// The experiments of all columns; throws with the problems of all of them, each once.
std::vector<Experiment> experiments_of(const std::vector<ColumnOptions>& columns,
                                       const DataRoot& data) {
  std::vector<Experiment> experiments;
  Diagnostics diagnostics;
  std::vector<std::string> seen;
  for (const ColumnOptions& column : columns) {
    try {
      experiments.push_back(load_experiment(column.experiment, data));
    } catch (const ConfigError& error) {
      for (const Diagnostic& problem : error.diagnostics()) {
        std::string text = to_text(problem);
        if (std::find(seen.begin(), seen.end(), text) == seen.end()) {
          seen.push_back(std::move(text));
          diagnostics.error(problem.where, problem.message);
        }
      }
    }
  }
  diagnostics.throw_if_any();
  return experiments;
}

std::optional<double> positive_number(const std::string& text) {
  double value = 0.0;
  const char* end = text.data() + text.size();
  const std::from_chars_result result = std::from_chars(text.data(), end, value);
  const bool good = result.ec == std::errc{} && result.ptr == end && value > 0.0 && value < 1e12;
  return good ? std::optional(value) : std::nullopt;
}

// GPU -> price of an hour. Throws with every price that is none, or of a GPU that no column has.
std::map<std::string, double> prices_of(const std::vector<std::string>& texts,
                                        const std::vector<Experiment>& experiments) {
  std::vector<std::string> gpus;
  gpus.reserve(experiments.size());
  for (const Experiment& experiment : experiments) {
    gpus.push_back(experiment.cluster.device.name);
  }
  std::map<std::string, double> prices;
  Diagnostics diagnostics;
  for (const std::string& text : texts) {
    const std::size_t equals = std::min(text.find('='), text.size());
    const std::string gpu = text.substr(0, equals);
    const std::optional<double> price =
        positive_number(text.substr(std::min(equals + 1, text.size())));
    if (!price) {
      diagnostics.error({"--price " + text, 0, 0},
                        "write GPU=PRICE, the price of a GPU-hour above 0, e.g. mi300x=2.50");
    } else if (std::find(gpus.begin(), gpus.end(), gpu) == gpus.end()) {
      diagnostics.error({"--price " + text, 0, 0},
                        "no column has the GPU '" + gpu + "'" + did_you_mean(gpu, gpus));
    } else if (!prices.emplace(gpu, *price).second) {
      diagnostics.error({"--price " + text, 0, 0}, "the GPU has a price already");
    }
  }
  diagnostics.throw_if_any();
  return prices;
}

// A column with the best of all plans; those of the command line narrow them.
ComparedColumn with_best_plan(const ColumnOptions& column, const Experiment& experiment,
                              const CostModel& cost, const DataRoot& data, int threads) {
  const SweepSpace space = read_sweep(with_all_plans(load_sweep(column.experiment, data)), data);
  const BestPlan found = best_plan(space, {space.sites().size(), cost}, threads);
  ComparedColumn result{column.own, {}, std::nullopt, found.searched};
  if (!found.best) {
    result.projection = without_plan(experiment, why_no_plan(found.searched));
    return result;
  }
  Experiment planned = experiment;
  planned.plan = found.best->plan;
  planned.training = found.best->training;
  result.projection = projections_of({planned}, cost, load_accuracy(data)).front();
  return result;
}

std::vector<ComparedColumn> as_given(const std::vector<ColumnOptions>& columns,
                                     const std::vector<Experiment>& experiments,
                                     const CostModel& cost, const DataRoot& data) {
  std::vector<Projection> projections = projections_of(experiments, cost, load_accuracy(data));
  std::vector<ComparedColumn> result;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    result.push_back({columns[i].own, std::move(projections[i]), std::nullopt, std::nullopt});
  }
  return result;
}

std::vector<ComparedColumn> compared(const CompareOptions& options, const DataRoot& data) {
  const std::vector<ColumnOptions> columns = columns_of(options);
  std::vector<Experiment> experiments = experiments_of(columns, data);
  const std::map<std::string, double> prices = prices_of(options.prices, experiments);
  // All columns have the same backends.
  const CostModel cost = cost_model(experiments.front(), data);
  for (Experiment& experiment : experiments) {
    experiment.backends = experiments.front().backends;
  }
  std::vector<ComparedColumn> result;
  if (options.best_plan) {
    const int threads = options.threads > 0 ? options.threads : processors();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      result.push_back(with_best_plan(columns[i], experiments[i], cost, data, threads));
    }
  } else {
    result = as_given(columns, experiments, cost, data);
  }
  for (std::size_t i = 0; i < result.size(); ++i) {
    ComparedColumn& column = result[i];
    column.projection.provenance = provenance_shares(experiments[i], column.projection, cost);
    const auto price = prices.find(column.projection.gpu);
    if (price != prices.end()) {
      column.gpu_hour = price->second;
    }
  }
  return result;
}

int run_compare(const CompareOptions& options, const GlobalOptions& global) {
  const std::vector<ComparedColumn> columns = compared(options, data_root(global));
  const std::string& format = options.output.format;
  write_output(options.output, format == "json"
                                   ? json_text(comparison_to_json(columns, program_version()))
                               : format == "csv" ? comparison_to_csv(columns)
                                                 : comparison_to_text(columns));
  const bool any = std::any_of(columns.begin(), columns.end(), [](const ComparedColumn& column) {
    return column.projection.feasible;
  });
  return any ? kDone : kPlanCannotRun;
}

template <typename Value>
void add_repeatable(CLI::App& command, const std::string& flag, std::vector<Value>& values,
                    const std::string& help) {
  command.add_option(flag, values, help + " (repeatable)")->allow_extra_args(false)->take_all();
}

}  // namespace

void add_compare(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "compare", "the same work on several GPUs, nodes, clocks, power limits or software sets");
  auto options = std::make_shared<CompareOptions>();
  add_uncompared_options(*command, options->experiment);
  add_repeatable(*command, "--gpu", options->gpus, "a GPU's name");
  add_repeatable(*command, "--nodes", options->nodes, "number of nodes");
  add_repeatable(*command, "--gpu-clock-mhz", options->clocks_mhz, "lock the GPU clock, MHz");
  add_repeatable(*command, "--power-limit", options->power_limits, "of each GPU: '500 W'");
  add_repeatable(*command, "--software", options->software, "a software set");
  add_repeatable(*command, "--price", options->prices, "of a GPU-hour: mi300x=2.50");
  command->add_flag("--best-plan", options->best_plan,
                    "each column with its own best plan, searched among all; --tp, --set plan.x=.. "
                    "narrow them, the plan of the file does not count");
  command->add_option("--threads", options->threads, "of --best-plan; as many as processors")
      ->check(CLI::Range(1, 4096));
  add_output_options(*command, options->output, {"text", "json", "csv"});
  command->callback([options, &global, &run] {
    run = [options, &global] { return run_compare(*options, global); };
  });
}

}  // namespace stepcast::cli
