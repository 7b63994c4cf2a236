// SPDX-License-Identifier: Apache-2.0
#include "cli/common_options.hpp"

#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "cli/commands.hpp"
#include "cli/number_option.hpp"
#include "cli/output_file.hpp"
#include "cli/terminal.hpp"
#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/each_of.hpp"
#include "stepcast/base/error.hpp"
#include "stepcast/base/nearest_name.hpp"
#include "stepcast/base/option_keys.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/config/scalar.hpp"

namespace stepcast::cli {
namespace {

constexpr std::array kSiteOptions = {
    SiteOption{"--gpu", "a GPU's name or file"},
    SiteOption{"--cluster", "a cluster's name or file: its network and, without --gpu, its GPU"},
    SiteOption{"--nic-rate", "of each NIC: '400 Gb/s'"},
    SiteOption{"--nodes", "number of nodes", SiteOption::Takes::kWhole},
    SiteOption{"--gpus", "number of GPUs: whole nodes, or some of one", SiteOption::Takes::kWhole},
    SiteOption{"--gpu-clock-mhz", "lock the GPU clock, MHz", SiteOption::Takes::kMegahertz},
    SiteOption{"--power-limit", "of each GPU: '500 W'"},
};

void add_direct_option(CLI::App& command, ExperimentOptions& options, const KeyOption& option) {
  command.add_option_function<std::string>(
      option.option,
      [&options, option](const std::string& given) {
        options.direct.push_back(key_setting(option, given));
      },
      option.help);
}

void check_experiment_named(const ExperimentOptions& options) {
  if (!options.file.empty()) {
    return;
  }
  Diagnostics diagnostics;
  if (options.model.empty()) {
    diagnostics.error({"command line", 0, 0}, "give an experiment file, or a model and --gpu");
  } else if (!options.site.contains("--gpu") && !options.site.contains("--cluster")) {
    diagnostics.error({"command line", 0, 0}, "--model needs --gpu as well, or --cluster");
  }
  diagnostics.throw_if_any();
}

// Files of measurements are told under all of their options, of which a role may have several.
void add_backends(const ExperimentOptions& options, const Simulator& simulator,
                  std::vector<Assignment>& list) {
  const std::string measured = "--measured " + text_list(options.measured, ",");
  const std::vector<std::string> of_files = asked(
      {{"measured", "--measured"}}, [&] { return simulator.measured_backends(options.measured); });
  for (const std::string& backend : of_files) {
    list.emplace_back("backends." + backend, measured).files_here = true;
  }
  for (const std::string& backend : options.backends) {
    list.emplace_back("backends." + backend, "--backend " + backend).files_here = true;
  }
}

// Whether --set says the GPU, before which that of a cluster's profile does not count.
bool sets_gpu(const std::vector<std::string>& settings) {
  const std::string start = assignment(key_of("--gpu"), "");
  return std::ranges::any_of(settings,
                             [&start](const std::string& set) { return set.starts_with(start); });
}

// In the order in which they count.
std::vector<Assignment> settings_of(const ExperimentOptions& options, const Simulator& simulator) {
  std::vector<Assignment> list;
  const auto set = [&](const std::string& option) {
    if (const auto given = options.site.find(option); given != options.site.end()) {
      list.push_back(setting_by(option, key_of(option), given->second));
    }
  };
  if (!options.model.empty()) {
    list.push_back(setting_by("--model", key_of("--model"), options.model));
  }
  set("--cluster");
  set("--gpu");
  if (options.site.contains("--cluster") && !options.site.contains("--gpu")) {
    const std::string& cluster = options.site.at("--cluster");
    const std::string gpu = simulator.gpu_of_cluster(cluster);
    if (!gpu.empty() && !sets_gpu(options.settings)) {
      list.emplace_back(assignment(key_of("--gpu"), gpu), "--cluster " + cluster);
    }
  }
  for (const char* option :
       {"--nic-rate", "--nodes", "--gpus", "--gpu-clock-mhz", "--power-limit"}) {
    set(option);
  }
  if (options.site.contains("--gpus") && !options.site.contains("--nodes")) {
    list.emplace_back(assignment(key_of("--nodes"), "null"), "--gpus");  // of the file
  }
  list.insert(list.end(), options.direct.begin(), options.direct.end());
  add_backends(options, simulator, list);
  list.insert(list.end(), options.settings.begin(), options.settings.end());
  for (const Assignment& setting : list) {
    spdlog::debug("set {}", setting.text);
  }
  return list;
}

std::filesystem::path data_folder(const GlobalOptions& options) {
  if (!options.data.empty()) {
    std::error_code none;
    if (!std::filesystem::is_directory(std::filesystem::path(options.data) / "hardware_profiles",
                                       none)) {
      throw ConfigError({"--data " + options.data, 0, 0},
                        "is no data folder: it needs the folders hardware_profiles and configs");
    }
    return options.data;
  }
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path installed = program.parent_path() / STEPCAST_INSTALL_DATA;
  if (!error && std::filesystem::exists(installed / "hardware_profiles", error)) {
    return std::filesystem::weakly_canonical(installed);
  }
  return STEPCAST_BUILD_DATA;
}

// Whether the report itself is written.
bool writes_report(const OutputOptions& options) {
  return options.html != kStandardOutput || !options.out.empty();
}

constexpr std::string_view kStackKey = "software.stack";

// A flag that stands for a value of a key.
void add_setting_flag(CLI::App& command, ExperimentOptions& options, const std::string& flag,
                      const Assignment& setting, const std::string& help) {
  command.add_flag_callback(
      flag, [&options, setting] { options.direct.push_back(setting); }, help);
}

}  // namespace

void SiteOption::check(CLI::Option& option) const {
  if (takes == Takes::kWhole) {
    option.check(whole_number());
  } else if (takes == Takes::kMegahertz) {
    option.check(real_number());
  }
}

std::string SiteOption::label(const std::string& given) const {
  if (takes == Takes::kWhole) {
    std::int64_t number = 0;
    std::from_chars(given.data(), given.data() + given.size(), number);
    return std::to_string(number);
  }
  return takes == Takes::kMegahertz ? shortest_text(leading_decimal(given)) : given;
}

std::string SiteOption::value(const std::string& given) const {
  return label(given) + (takes == Takes::kMegahertz ? " MHz" : "");
}

std::span<const SiteOption> site_options() { return kSiteOptions; }

CLI::Option* add_out_option(CLI::App& command, std::string& file, const std::string& help) {
  return command.add_option_function<std::string>(
      "--out", [&file](const std::string& given) { file = given == "-" ? "" : given; }, help);
}

void add_output_options(CLI::App& command, OutputOptions& options,
                        const std::vector<std::string>& formats) {
  command.add_option("--format", options.format, "form of the output")
      ->check(CLI::IsMember(formats))
      ->capture_default_str();
  add_out_option(command, options.out);
}

void add_page_option(CLI::App& command, OutputOptions& options) {
  command.add_option("--html", options.html,
                     "the report as a page for a browser, one file that needs no other; - is "
                     "standard output, in place of the report");
}

CLI::Option* add_repeatable(CLI::App& command, const std::string& flag,
                            std::vector<std::string>& values, const std::string& help) {
  return command.add_option(flag, values, help + " (repeatable)")
      ->allow_extra_args(false)
      ->take_all();
}

void add_threads_option(CLI::App& command, int& threads, const std::string& help) {
  command.add_option("--threads", threads, help)->check(whole_number({1, Simulator::kMostThreads}));
}

void add_site_options(CLI::App& command, ExperimentOptions& options,
                      const std::vector<std::string_view>& but) {
  for (const SiteOption& option : kSiteOptions) {
    if (std::ranges::find(but, option.flag) != but.end()) {
      continue;
    }
    option.check(*command.add_option_function<std::string>(
        std::string(option.flag),
        [&options, &option](const std::string& given) {
          options.site[std::string(option.flag)] = option.value(given);
        },
        std::string(option.help)));
  }
  add_direct_option(command, options,
                    {std::string(key_of("--software")), "--software", std::string(kSoftwareHelp)});
}

void add_work_options(CLI::App& command, ExperimentOptions& options) {
  take_standard_input(*command.add_option("experiment", options.file,
                                          "experiment file (YAML); - is standard input"));
  command.add_option("--model", options.model, "a model's name or file");
  for (const KeyOption& option : Simulator::key_options()) {
    add_direct_option(command, options, option);
  }
}

void add_experiment_options(CLI::App& command, ExperimentOptions& options) {
  add_uncompared_options(command, options);
  add_work_options(command, options);
  add_site_options(command, options, {});
}

Assignment key_setting(const KeyOption& option, const std::string& value) {
  return setting_by(option.option, option.key, option_value(option.key, value));
}

void add_uncompared_options(CLI::App& command, ExperimentOptions& options) {
  add_setting_options(command, options);
  add_repeatable(command, "--measured", options.measured,
                 "take the times of operators from this file of measurements, and the models' for "
                 "what it has nothing near");
}

void add_setting_options(CLI::App& command, ExperimentOptions& options) {
  command.add_option_function<std::string>(
      "--sure",
      [&options](const std::string& value) {
        const std::string_view key = key_of("--sure");
        options.direct.emplace_back(assignment(key, option_value(key, value)), "--sure " + value);
      },
      "the odds of not running out of memory from which a plan fits: 0.99 or 99% (0.95)");
  add_setting_flag(command, options, "--tuned", {assignment(kStackKey, "tuned"), "--tuned"},
                   "as the makers of the stack run it: the interval of their published runs");
  add_setting_flag(command, options, "--as-it-comes",
                   {assignment(kStackKey, "as_it_comes"), "--as-it-comes"},
                   "as the stack comes to its users: the interval of what they report");
  add_repeatable(command, "--set", options.settings, "set any key: plan.tp=8");
  add_backends_option(command, options.backends);
}

void add_tokens_option(CLI::App& command, ExperimentOptions& options) {
  add_direct_option(command, options,
                    {std::string(key_of("--tokens")), "--tokens",
                     "of a whole training run, 15T: its days, GPU-hours, energy and, with --price, "
                     "price"});
}

void add_backends_option(CLI::App& command, std::vector<std::string>& backends) {
  add_repeatable(command, "--backend", backends, "choose a backend: gemm=roofline");
}

void add_price_options(CLI::App& command, PriceOptions& options) {
  add_repeatable(command, "--price", options.prices, "of a GPU-hour: mi300x=2.50");
  command.add_option("--currency", options.currency, "of prices: EUR; $ unless given");
}

GpuHourPrices prices_of(const PriceOptions& options) {
  return {told_under("--price", options.prices), options.currency};
}

void take_standard_input(CLI::Option& option) {
  option.transform([](const std::string& file) { return file == "-" ? kStandardInput : file; });
}

Simulator simulator_of(const GlobalOptions& options) { return Simulator(data_folder(options)); }

namespace {

// The name of a model in the place of a file that is not there. Throws ConfigError where the word
// is neither, and no path.
ExperimentOptions with_named_model(ExperimentOptions options, const Simulator& simulator) {
  std::error_code error;
  if (options.file.empty() || !options.model.empty() ||
      std::filesystem::exists(options.file, error)) {
    return options;
  }
  const std::filesystem::path path = options.file;
  if (simulator.is_model(options.file)) {
    options.model = options.file;
    options.file.clear();
  } else if (!path.has_parent_path() && path.extension() != ".yaml" && path.extension() != ".yml" &&
             path.extension() != ".json") {
    throw ConfigError({options.file, 0, 0},
                      "is neither a file nor a model" +
                          did_you_mean(options.file, simulator.list(Listing::kModel)) +
                          "; 'stepcast list models' shows them");
  }
  return options;
}

// What the file is, where it is another program's; nothing of an experiment and of what is unknown.
// Standard input can be read once.
std::optional<KnownFile> foreign_file(const ExperimentOptions& options,
                                      const Simulator& simulator) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(options.file, error)) {
    return std::nullopt;
  }
  std::optional<KnownFile> known = simulator.known_file({options.file});
  if (!known || known->is_experiment) {
    return std::nullopt;
  }
  if (known->door.empty()) {
    const Problem& refusal = known->refusal;
    throw ConfigError({refusal.file, refusal.line, refusal.column}, refusal.message);
  }
  return known;
}

// A config.json is the model of an experiment that options alone make.
ExperimentOptions with_foreign_model(ExperimentOptions options,
                                     const std::optional<KnownFile>& foreign) {
  if (foreign && foreign->door == "hf" && options.model.empty()) {
    options.model = std::exchange(options.file, {});
  }
  return options;
}

// What is asked for behind a file goes behind that of an import.
Imported imported_by(const KnownFile& known, const ImportSettings& settings,
                     const Simulator& simulator) {
  try {
    return simulator.import_experiment(known.door, known.source, settings);
  } catch (const InputError& error) {
    std::vector<Diagnostic> told = each_of(error.problems(), [](const Problem& problem) {
      return Diagnostic{{problem.file, problem.line, problem.column}, problem.message};
    });
    const std::string file = known.source.file.string();
    told.push_back({{file, 0, 0},
                    "KEY=VALUE goes behind the file of an import: stepcast import " + known.door +
                        " " + file +
                        " KEY=VALUE --out mine.yaml; then stepcast project mine.yaml"});
    throw ConfigError(std::move(told));
  }
}

// An experiment that is read from another program's file. Throws ConfigError where it does not say
// what it runs on, and nobody else does.
ExperimentSource imported_source(const ExperimentOptions& options, const KnownFile& known,
                                 const Simulator& simulator) {
  ImportSettings settings;
  if (const auto gpu = options.site.find("--gpu"); gpu != options.site.end()) {
    settings.gpu = gpu->second;
  } else if (const auto cluster = options.site.find("--cluster"); cluster != options.site.end()) {
    settings.gpu = simulator.gpu_of_cluster(cluster->second);
  }
  if (const auto nodes = options.site.find("--nodes"); nodes != options.site.end()) {
    settings.nodes = leading_number(nodes->second);
  }
  spdlog::warn("{}", told_door(known));
  const Imported imported = imported_by(known, settings, simulator);
  if (!imported.missing.empty()) {
    throw ConfigError({options.file, 0, 0}, "is " + known.what +
                                                ", and does not say on what it runs; give " +
                                                text_list(imported.missing, " and "));
  }
  spdlog::warn("{}", std::string_view(imported.remarks).substr(0, imported.remarks.size() - 1));
  ExperimentSource source{.text = imported.text};
  source.folder = std::filesystem::path(options.file).parent_path();
  source.name = options.file;
  return source;
}

}  // namespace

std::string told_door(const KnownFile& known) {
  const int line = known.refusal.line;
  const std::string file = known.source.file.string();
  return (file == kStandardInput ? "standard input" : file) + ": " + known.what +
         (line > 0 ? " in line " + std::to_string(line) : "") + ": import " + known.door;
}

ExperimentSource source_of(const ExperimentOptions& given, const Simulator& simulator) {
  const ExperimentOptions named = with_named_model(given, simulator);
  const std::optional<KnownFile> foreign = foreign_file(named, simulator);
  const ExperimentOptions options = with_foreign_model(named, foreign);
  check_experiment_named(options);
  ExperimentSource source{.file = options.file};
  if (foreign && !options.file.empty()) {
    source = imported_source(options, *foreign, simulator);
  }
  if (options.file.empty()) {
    // What an experiment made from options alone starts from; every value can be set.
    source.text = "training: {sequence_length: 4096}\n";
    source.assumed = true;
  }
  source.settings = settings_of(options, simulator);
  source.settings_must_agree = true;
  return source;
}

std::vector<Assignment> told_under(const std::string& option,
                                   const std::vector<std::string>& texts) {
  return each_of(
      texts, [&option](const std::string& text) { return Assignment(text, option + " " + text); });
}

std::optional<ConfigError> told_by_options(const InputError& error, const OptionNames& names) {
  std::vector<Diagnostic> told;
  bool any = false;
  for (const Problem& problem : error.problems()) {
    Location where{problem.file, problem.line, problem.column};
    const std::size_t end = std::min(where.file.find(' '), where.file.size());
    const auto name = names.find(where.file.substr(0, end));
    if (name != names.end() && where.line == 0) {
      where.file = name->second + where.file.substr(end);
      any = true;
    }
    told.push_back({std::move(where), problem.message});
  }
  return any ? std::optional(ConfigError(std::move(told))) : std::nullopt;
}

ReportForm form_of(const OutputOptions& options, const GlobalOptions& global) {
  ReportForm form(options.format == "json"    ? ReportFormat::kJson
                  : options.format == "csv"   ? ReportFormat::kCsv
                  : options.format == "jsonl" ? ReportFormat::kJsonLines
                                              : ReportFormat::kText);
  form.text = writes_report(options);
  if (!options.html.empty()) {
    form.page = global.command;
  }
  form.plot = !options.plot.empty();
  return form;
}

void write_report(const OutputOptions& options, const Report& report) {
  if (writes_report(options)) {
    write_file(options.out, shown_report(report.text, options.format, options.out));
  }
  write_pictures(options, report);
}

void write_pictures(const OutputOptions& options, const Report& report) {
  if (!options.html.empty()) {
    write_file(options.html == kStandardOutput ? "" : options.html, report.page);
  }
  if (!options.plot.empty()) {
    write_file(options.plot, report.plot);
  }
}

int answer(const OutputOptions& options, const Report& report) {
  write_report(options, report);
  return !report.feasible ? kPlanCannotRun : report.tight ? kMemoryIsTight : kDone;
}

void on_choice(CLI::App& command, Run& run, Run chosen) {
  command.callback([&run, chosen = std::move(chosen)] { run = chosen; });
}

void write_file(const std::string& file, const std::string& text) {
  OutputFile output(file);
  output.write(text);
  output.keep();
}

std::string option_of(std::string_view key) {
  for (const OptionKey& known : kOptionKeys) {
    if (known.key == key) {
      return std::string(known.option);
    }
  }
  for (const KeyOption& known : Simulator::key_options()) {
    if (known.key == key) {
      return known.option;
    }
  }
  return {};
}

std::string_view key_of(std::string_view option) {
  const auto* const known = std::ranges::find(kOptionKeys, option, &OptionKey::option);
  STEPCAST_CHECK(known != kOptionKeys.end(), "an option has no key");
  return known->key;
}

std::string assignment(std::string_view key, std::string_view value) {
  return std::string(key) + "=" + std::string(value);
}

Assignment setting_by(const std::string& option, std::string_view key, const std::string& value) {
  return {assignment(key, value), option + " " + value};
}

}  // namespace stepcast::cli
