// SPDX-License-Identifier: Apache-2.0
// `stepcast compare`: the same work on several GPUs, clusters, NIC rates, nodes, clocks, power
// limits or software sets.
#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "cli/number_option.hpp"
#include "cli/option_keys.hpp"
#include "cli/saved_plans.hpp"
#include "cli/terminal.hpp"
#include "stepcast/base/units_text.hpp"

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
    column.experiment.direct.push_back(setting_by("--software", key_of("--software"), software));
    column.own.emplace_back("software", software);
  });
  return columns;
}

void check_save_dir_of(const CompareOptions& options) {
  Diagnostics diagnostics;
  check_save_dir(options.save_dir, diagnostics);
  diagnostics.throw_if_any();
}

int run_compare(const CompareOptions& options, const GlobalOptions& global) {
  check_save_dir_of(options);
  const Simulator simulator = simulator_of(global);
  std::vector<ColumnSource> columns;
  for (const ColumnOptions& column : columns_of(options)) {
    columns.push_back({source_of(column.experiment, simulator), column.own});
  }
  SavedPlans saved(options.save_dir);
  ReportForm form = form_of(options.output, global);
  // A table on a terminal is as wide as that.
  form.width = options.output.out.empty() ? standard_output().width : 0;
  const Report report = asked({{"currency", "--currency"}}, [&] {
    return simulator.columns_report(
        columns, form,
        {prices_of(options.prices), options.best_plan, options.threads, saved.writer()});
  });
  saved.finish();
  return answer(options.output, report);
}

template <typename Value>
CLI::Option* add_column_option(CLI::App& command, const std::string& flag,
                               std::vector<Value>& values, const std::string& help) {
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
  add_column_option(*command, "--gpu", options->gpus, "a GPU's name");
  add_column_option(*command, "--cluster", options->clusters,
                    "a cluster's name: its network and, without --gpu, its GPU");
  add_column_option(*command, "--nic-rate", options->nic_rates, "of each NIC: '400 Gb/s'");
  add_column_option(*command, "--nodes", options->nodes, "number of nodes")->check(whole_number());
  add_column_option(*command, "--gpu-clock-mhz", options->clocks_mhz, "lock the GPU clock, MHz")
      ->check(real_number());
  add_column_option(*command, "--power-limit", options->power_limits, "of each GPU: '500 W'");
  add_column_option(*command, "--software", options->software, "a software set");
  add_tokens_option(*command, options->experiment);
  add_price_options(*command, options->prices);
  command->add_flag("--best-plan", options->best_plan,
                    "each column with its own best plan, searched among all; --tp, --set plan.x=.. "
                    "narrow them, the plan of the file does not count");
  add_threads_option(*command, options->threads, "of --best-plan; as many as processors");
  add_save_dir_option(*command, options->save_dir, "the plans of all columns, the fastest first");
  add_output_options(*command, options->output, {"text", "json", "csv"});
  add_page_option(*command, options->output);
  command->add_option("--plot", options->output.plot,
                      "tokens/s/GPU of the columns as a picture (SVG)");
  on_choice(*command, run, [options, &global] { return run_compare(*options, global); });
}

}  // namespace stepcast::cli
