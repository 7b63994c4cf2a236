// SPDX-License-Identifier: Apache-2.0
// `stepcast compare`: experiments, models, GPUs, clusters, NIC rates, nodes, clocks, power limits,
// software sets, and values of any key, side by side.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "cli/commands.hpp"
#include "cli/common_options.hpp"
#include "cli/saved_plans.hpp"
#include "cli/terminal.hpp"
#include "cli/waiting_line.hpp"

namespace stepcast::cli {
namespace {

struct CompareOptions {
  ExperimentOptions experiment;  // what all columns have
  std::vector<std::string> files;
  std::vector<std::string> models;
  std::map<std::string, std::vector<std::string>> sites;  // of every site option what is given
  std::vector<std::string> software;
  std::map<std::string, std::vector<std::string>> keys;  // of every option of a key what is given
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

// As cross(), but a single value makes no column apart and has no part in its name.
template <typename Set>
void cross_named(std::vector<ColumnOptions>& columns, const std::vector<std::string>& values,
                 const std::string& name, const Set& set) {
  cross(columns, values, [&](ColumnOptions& column, const std::string& value) {
    set(column.experiment, value);
    if (values.size() > 1) {
      column.own.emplace_back(name, value);
    }
  });
}

// "plan.tp" of "plan.tp=8".
std::string key_of_setting(const std::string& setting) {
  return setting.substr(0, setting.find('='));
}

// What --set gives of each key; of one that is given several times each value is a column.
void cross_settings(std::vector<ColumnOptions>& columns, const std::vector<std::string>& settings) {
  std::vector<std::string> keys;
  for (const std::string& setting : settings) {
    if (std::ranges::find(keys, key_of_setting(setting)) == keys.end()) {
      keys.push_back(key_of_setting(setting));
    }
  }
  for (const std::string& key : keys) {
    std::vector<std::string> all;
    std::ranges::copy_if(settings, std::back_inserter(all), [&key](const std::string& setting) {
      return key_of_setting(setting) == key;
    });
    cross(columns, all, [&](ColumnOptions& column, const std::string& setting) {
      column.experiment.settings.push_back(setting);
      if (all.size() > 1) {
        column.own.emplace_back(key, setting.substr(std::min(key.size() + 1, setting.size())));
      }
    });
  }
}

// A file's name without its ending, with as many of its folders as tell it from the others.
std::string short_name(const std::string& file, const std::vector<std::string>& all) {
  const auto last_parts = [](const std::filesystem::path& path, int folders) {
    const bool is_yaml = path.extension() == ".yaml" || path.extension() == ".yml";
    std::filesystem::path name = is_yaml ? path.stem() : path.filename();
    std::filesystem::path folder = path.parent_path();
    for (int i = 0; i < folders && !folder.filename().empty(); ++i) {
      name = folder.filename() / name;
      folder = folder.parent_path();
    }
    return name.string();
  };
  constexpr int kMostFolders = 8;
  for (int folders = 0; folders < kMostFolders; ++folders) {
    std::string name = last_parts(file, folders);
    if (std::ranges::none_of(all, [&](const std::string& other) {
          return other != file && last_parts(other, folders) == name;
        })) {
      return name;
    }
  }
  return file;
}

// The cross product; the experiment varies slowest, then the model, GPU, cluster, NIC rate, nodes,
// clock, power limit, software, and keys.
std::vector<ColumnOptions> columns_of(const CompareOptions& options) {
  std::vector<ColumnOptions> columns = {{options.experiment, {}}};
  columns.front().experiment.settings.clear();
  cross(columns, options.files, [&](ColumnOptions& column, const std::string& file) {
    column.experiment.file = file;
    if (options.files.size() > 1) {
      column.own.emplace_back("experiment", short_name(file, options.files));
    }
  });
  cross_named(columns, options.models, "model",
              [](ExperimentOptions& experiment, const auto& model) { experiment.model = model; });
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
  for (const KeyOption& option : Simulator::key_options()) {
    cross_named(columns, options.keys.at(option.option), name_of(option.option),
                [&option](ExperimentOptions& experiment, const auto& value) {
                  experiment.direct.push_back(key_setting(option, value));
                });
  }
  cross_settings(columns, options.experiment.settings);
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
    WaitingLine line(global);
    return simulator.columns_report(
        columns, form,
        {prices_of(options.prices), options.best_plan, options.free, options.threads,
         saved.writer(), [&line](const std::string& what) { line.says(what); }});
  });
  saved.finish();
  return answer(options.output, report);
}

}  // namespace

void add_compare(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "compare",
      "experiments, models, GPUs, clusters, NICs, nodes, clocks, power limits, software sets and "
      "values of any key side by side: give any of them several times");
  auto options = std::make_shared<CompareOptions>();
  add_uncompared_options(*command, options->experiment);
  take_standard_input(*command->add_option("experiment", options->files,
                                           "experiment files (YAML) or names of models; - is "
                                           "standard input"));
  add_repeatable(*command, "--model", options->models, "a model's name or file");
  for (const KeyOption& option : Simulator::key_options()) {
    add_repeatable(*command, option.option, options->keys[option.option], option.help);
  }
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
