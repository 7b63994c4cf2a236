// SPDX-License-Identifier: Apache-2.0
// `stepcast compare`: the same work on several GPUs, clusters, NIC rates, nodes, clocks, power
// limits or software sets.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/commands.hpp"
#include "cli/common_options.hpp"
#include "cli/saved_plans.hpp"
#include "cli/terminal.hpp"

namespace stepcast::cli {
namespace {

struct CompareOptions {
  ExperimentOptions experiment;
  std::map<std::string, std::vector<std::string>> sites;  // of every site option what is given
  std::vector<std::string> software;
  PriceOptions prices;
  bool best_plan = false;
  std::vector<std::string> free;  // keys that it searches although they are given
  int threads = 0;
  std::string save_dir;  // a folder for the plans of the columns; empty: none
  OutputOptions output;
};

// The options of one column: those of all, and its own.
struct ColumnOptions {
  ExperimentOptions experiment;
  std::vector<std::pair<std::string, std::string>> own;
};

// "nic_rate" of --nic-rate.
std::string name_of(const std::string& flag) {
  std::string name = flag.substr(2);
  std::ranges::replace(name, '-', '_');
  return name;
}

// Every column once for each of `values`; as it is without values.
template <typename Set>
void cross(std::vector<ColumnOptions>& columns, const std::vector<std::string>& values,
           const Set& set) {
  if (values.empty()) {
    return;
  }
  std::vector<ColumnOptions> product;
  for (const ColumnOptions& column : columns) {
    for (const std::string& value : values) {
      set(product.emplace_back(column), value);
    }
  }
  columns = std::move(product);
}

// The cross product; the GPU varies slowest, then cluster, NIC rate, nodes, clock, power limit and
// software.
std::vector<ColumnOptions> columns_of(const CompareOptions& options) {
  std::vector<ColumnOptions> columns = {{options.experiment, {}}};
  for (const SiteOption& option : site_options()) {
    const std::string flag(option.flag);
    cross(columns, options.sites.at(flag), [&](ColumnOptions& column, const std::string& given) {
      column.experiment.site[flag] = option.value(given);
      column.own.emplace_back(name_of(flag), option.label(given));
    });
  }
  cross(columns, options.software, [](ColumnOptions& column, const std::string& software) {
    column.experiment.direct.push_back(setting_by("--software", key_of("--software"), software));
    column.own.emplace_back("software", software);
  });
  return columns;
}

int run_compare(const CompareOptions& options, const GlobalOptions& global) {
  Diagnostics diagnostics;
  check_save_dir(options.save_dir, diagnostics);
  diagnostics.throw_if_any();
  const Simulator simulator = simulator_of(global);
  std::vector<ColumnSource> columns;
  for (const ColumnOptions& column : columns_of(options)) {
    columns.push_back({source_of(column.experiment, simulator), column.own});
  }
  SavedPlans saved(options.save_dir);
  ReportForm form = form_of(options.output, global);
  // A table on a terminal is as wide as that.
  form.width = options.output.out.empty() ? standard_output().width : 0;
  const Report report = asked({{"currency", "--currency"}, {"free", "--free"}}, [&] {
    return simulator.columns_report(columns, form,
                                    {prices_of(options.prices), options.best_plan, options.free,
                                     options.threads, saved.writer()});
  });
  saved.finish();
  return answer(options.output, report);
}

}  // namespace

void add_compare(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "compare",
      "the same work on several GPUs, clusters, NICs, nodes, clocks, power limits or software");
  auto options = std::make_shared<CompareOptions>();
  add_uncompared_options(*command, options->experiment);
  for (const SiteOption& option : site_options()) {
    const std::string flag(option.flag);
    option.check(*add_repeatable(*command, flag, options->sites[flag], std::string(option.help)));
  }
  add_repeatable(*command, "--software", options->software, std::string(kSoftwareHelp));
  add_tokens_option(*command, options->experiment);
  add_price_options(*command, options->prices);
  command->add_flag(
      "--best-plan", options->best_plan,
      "each column with its own best plan, searched among all and from the file's own "
      "on; --tp, --recompute, --set plan.x=.. narrow them");
  command
      ->add_option("--free", options->free,
                   "keys that --best-plan searches although they are given: dispatcher,recompute")
      ->delimiter(',');
  add_threads_option(*command, options->threads, "of --best-plan; as many as processors");
  add_save_dir_option(*command, options->save_dir, "the plans of all columns, the fastest first");
  add_output_options(*command, options->output, {"text", "json", "csv"});
  add_page_option(*command, options->output);
  command->add_option("--plot", options->output.plot,
                      "tokens/s/GPU of the columns as a picture (SVG)");
  on_choice(*command, run, [options, &global] { return run_compare(*options, global); });
}

}  // namespace stepcast::cli
