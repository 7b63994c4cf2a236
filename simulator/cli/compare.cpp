// SPDX-License-Identifier: Apache-2.0
// `stepcast compare`: the same work on several GPUs, clusters, NIC rates, nodes, clocks, power
// limits or software sets.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/number_option.hpp"
#include "cli/option_keys.hpp"
#include "cli/page_output.hpp"
#include "cli/run_options.hpp"
#include "cli/saved_plans.hpp"
#include "cli/terminal.hpp"
#include "pages/page_charts.hpp"
#include "pages/svg_plot.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/base/worker_arena.hpp"
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
  std::vector<std::string> clusters;
  std::vector<std::string> nic_rates;
  std::vector<std::int64_t> nodes;
  std::vector<double> clocks_mhz;
  std::vector<std::string> power_limits;
  std::vector<std::string> software;
  PriceOptions prices;
  bool best_plan = false;
  int threads = 0;
  std::string save_dir;  // a folder for the plans of the columns; empty: none
  std::string plot;      // an SVG of the columns; empty: none
  OutputOptions output;
};

// The columns and what each of them runs.
struct Compared {
  std::vector<ComparedColumn> columns;
  std::vector<Experiment> experiments;
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

// The cross product; the GPU varies slowest, then cluster, NIC rate, nodes, clock, power limit and
// software.
std::vector<ColumnOptions> columns_of(const CompareOptions& options) {
  std::vector<ColumnOptions> columns = {{options.experiment, {}}};
  cross(columns, options.gpus, [](ColumnOptions& column, const std::string& gpu) {
    column.experiment.gpu = gpu;
    column.own.emplace_back("gpu", gpu);
  });
  cross(columns, options.clusters, [](ColumnOptions& column, const std::string& cluster) {
    column.experiment.cluster = cluster;
    column.own.emplace_back("cluster", cluster);
  });
  cross(columns, options.nic_rates, [](ColumnOptions& column, const std::string& rate) {
    column.experiment.nic_rate = rate;
    column.own.emplace_back("nic_rate", rate);
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
    column.experiment.direct.push_back(override_by("--software", key_of("--software"), software));
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

std::vector<std::string> gpus_of(const std::vector<Experiment>& experiments) {
  std::vector<std::string> gpus;
  gpus.reserve(experiments.size());
  for (const Experiment& experiment : experiments) {
    gpus.push_back(experiment.cluster.device.name);
  }
  return gpus;
}

// A column with the best of all plans, which `experiment` gets; those of the command line narrow
// them.
ComparedColumn with_best_plan(const ColumnOptions& column, Experiment& experiment,
                              const CostModel& cost, const DataRoot& data, int threads,
                              const std::shared_ptr<SolvedPipelines>& pipelines) {
  const SweepSpace space = read_sweep(with_all_plans(load_sweep(column.experiment, data)), data);
  const BestPlan found = best_plan(space, {space.sites().size(), cost}, threads, pipelines);
  ComparedColumn result{column.own, {}, found.searched};
  if (!found.best) {
    result.projection = without_plan(experiment, why_no_plan(found.searched));
    return result;
  }
  experiment.plan = found.best->plan;
  experiment.training = found.best->training;
  result.projection = projections_of({experiment}, cost, load_accuracy(data)).front();
  return result;
}

std::vector<ComparedColumn> as_given(const std::vector<ColumnOptions>& columns,
                                     const std::vector<Experiment>& experiments,
                                     const CostModel& cost, const DataRoot& data) {
  std::vector<Projection> projections = projections_of(experiments, cost, load_accuracy(data));
  std::vector<ComparedColumn> result;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    result.push_back({columns[i].own, std::move(projections[i]), std::nullopt});
  }
  return result;
}

Compared compared(const CompareOptions& options, const DataRoot& data) {
  const std::vector<ColumnOptions> columns = columns_of(options);
  std::vector<Experiment> experiments = experiments_of(columns, data);
  const std::map<std::string, GpuHourPrice> prices =
      prices_of(options.prices, gpus_of(experiments), "no column has");
  // All columns have the same backends.
  const CostModel cost = cost_model(experiments.front(), data);
  for (Experiment& experiment : experiments) {
    experiment.backends = experiments.front().backends;
  }
  std::vector<ComparedColumn> result;
  if (options.best_plan) {
    const int threads = options.threads > 0 ? options.threads : processors();
    const auto pipelines = std::make_shared<SolvedPipelines>();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      result.push_back(with_best_plan(columns[i], experiments[i], cost, data, threads, pipelines));
    }
  } else {
    result = as_given(columns, experiments, cost, data);
  }
  for (std::size_t i = 0; i < result.size(); ++i) {
    ComparedColumn& column = result[i];
    column.projection.provenance = provenance_shares(experiments[i], column.projection, cost);
    const auto price = prices.find(column.projection.gpu);
    if (price != prices.end()) {
      column.projection.gpu_hour = price->second;
    }
  }
  return {std::move(result), std::move(experiments)};
}

// The columns that run, the fastest first; of equal ones in their order.
std::vector<std::size_t> ranked_columns(const std::vector<ComparedColumn>& columns) {
  std::vector<std::size_t> ranked;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].projection.feasible) {
      ranked.push_back(i);
    }
  }
  std::stable_sort(ranked.begin(), ranked.end(), [&columns](std::size_t a, std::size_t b) {
    return columns[a].projection.tokens_per_second_per_gpu >
           columns[b].projection.tokens_per_second_per_gpu;
  });
  return ranked;
}

void save_columns(const Compared& compared, const CompareOptions& options, const DataRoot& data) {
  if (options.save_dir.empty()) {
    return;
  }
  // The GPU may be one of the columns alone.
  const ExperimentTree input = settled_tree(columns_of(options).front().experiment, data);
  const std::vector<std::size_t> ranked = ranked_columns(compared.columns);
  SavedPlans plans(options.save_dir, input.root, input.folder, ranked.size(), data);
  for (const std::size_t i : ranked) {
    const ComparedColumn& column = compared.columns[i];
    plans.add(compared.experiments[i],
              " by tokens_per_second_per_gpu: " + column.label() + ", " +
                  shortest_text(column.projection.tokens_per_second_per_gpu) + " tokens/s/GPU, " +
                  shortest_text(column.projection.time.step.value()) + " s a step");
  }
  plans.add_table("comparison.csv", comparison_to_csv(compared.columns));
  plans.finish();
}

void check_save_dir_of(const CompareOptions& options) {
  Diagnostics diagnostics;
  check_save_dir(options.save_dir, diagnostics);
  diagnostics.throw_if_any();
}

std::string comparison_title(const std::vector<ComparedColumn>& columns) {
  std::string title = columns.front().projection.model + " on ";
  for (const ComparedColumn& column : columns) {
    title += (&column == &columns.front() ? "" : ", ") + column.label();
  }
  return title;
}

int run_compare(const CompareOptions& options, const GlobalOptions& global) {
  check_save_dir_of(options);
  const DataRoot data = data_root(global);
  const Compared result = compared(options, data);
  const std::vector<ComparedColumn>& columns = result.columns;
  const std::string& format = options.output.format;
  const auto json = [&columns] {
    return json_text(comparison_to_json(columns, program_version()));
  };
  // A table on a terminal is as wide as that.
  const std::size_t width = options.output.out.empty() ? standard_output().width : 0;
  write_output(options.output, global,
               format == "json"  ? json()
               : format == "csv" ? comparison_to_csv(columns)
                                 : comparison_to_text(columns, width),
               {PageKind::kComparison, comparison_title(columns), json,
                [&columns] { return comparison_charts(columns); }});
  if (!options.plot.empty()) {
    write_output({"svg", options.plot, ""}, comparison_to_svg(comparison_title(columns), columns));
  }
  save_columns(result, options, data);
  const bool any = std::any_of(columns.begin(), columns.end(), [](const ComparedColumn& column) {
    return column.projection.feasible;
  });
  return any ? kDone : kPlanCannotRun;
}

template <typename Value>
CLI::Option* add_repeatable(CLI::App& command, const std::string& flag, std::vector<Value>& values,
                            const std::string& help) {
  return command.add_option(flag, values, help + " (repeatable)")
      ->allow_extra_args(false)
      ->take_all();
}

}  // namespace

void add_compare(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "compare",
      "the same work on several GPUs, clusters, NICs, nodes, clocks, power limits or software");
  auto options = std::make_shared<CompareOptions>();
  add_uncompared_options(*command, options->experiment);
  add_repeatable(*command, "--gpu", options->gpus, "a GPU's name");
  add_repeatable(*command, "--cluster", options->clusters,
                 "a cluster's name: its network and, without --gpu, its GPU");
  add_repeatable(*command, "--nic-rate", options->nic_rates, "of each NIC: '400 Gb/s'");
  add_repeatable(*command, "--nodes", options->nodes, "number of nodes")->check(whole_number());
  add_repeatable(*command, "--gpu-clock-mhz", options->clocks_mhz, "lock the GPU clock, MHz")
      ->check(real_number());
  add_repeatable(*command, "--power-limit", options->power_limits, "of each GPU: '500 W'");
  add_repeatable(*command, "--software", options->software, "a software set");
  add_tokens_option(*command, options->experiment);
  add_price_options(*command, options->prices);
  command->add_flag("--best-plan", options->best_plan,
                    "each column with its own best plan, searched among all; --tp, --set plan.x=.. "
                    "narrow them, the plan of the file does not count");
  command->add_option("--threads", options->threads, "of --best-plan; as many as processors")
      ->check(whole_number({1, kMostThreads}));
  add_save_dir_option(*command, options->save_dir, "the plans of all columns, the fastest first");
  add_output_options(*command, options->output, {"text", "json", "csv"});
  add_page_option(*command, options->output);
  command->add_option("--plot", options->plot, "tokens/s/GPU of the columns as a picture (SVG)");
  command->callback([options, &global, &run] {
    run = [options, &global] { return run_compare(*options, global); };
  });
}

}  // namespace stepcast::cli
