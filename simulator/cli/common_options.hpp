// SPDX-License-Identifier: Apache-2.0
// Options that mean the same in every command, and how what they ask for is asked of the library
// and written.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/option_checks.hpp"
#include "stepcast/base/error.hpp"
#include "stepcast/stepcast.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace stepcast::cli {

// Exit codes of the program.
inline constexpr int kDone = 0;
inline constexpr int kFault = 1;
inline constexpr int kInputWrong = 2;
inline constexpr int kPlanCannotRun = 3;
inline constexpr int kMemoryIsTight = 4;  // done, but the allocator may not have all it reserves
inline constexpr int kInterrupted = 130;  // 128 + SIGINT, as a shell says it

struct OutputOptions {
  std::string format = "text";
  std::string out;   // a file; empty: standard output
  std::string html;  // a file for the report as a page; empty: none
  std::string plot;  // a file for an SVG; empty: none
};

// How an experiment is named on the command line.
struct ExperimentOptions {
  std::string file;
  std::string model;
  std::map<std::string, std::string> site;  // what it runs on, by site option: {"--gpu", "mi300x"}
  std::vector<std::string> settings;        // --set key=value
  std::vector<std::string> backends;        // --backend role=name
  std::vector<std::string> measured;        // --measured file
  std::vector<Assignment> direct;           // --tp 8 as plan.tp=8

  bool operator==(const ExperimentOptions&) const = default;
};

struct GlobalOptions {
  std::string data;  // folder with configs/ and hardware_profiles/
  bool verbose = false;
  bool quiet = false;
  std::string command;                  // the whole command line, as a shell takes it
  std::optional<KnownFile> recognized;  // what `import FILE` took the file for
  ReadFiles read;                       // what it reads
};

// "train.yml: a configuration of MaxText, by its 'base_config' in line 2: import maxtext".
std::string told_door(const KnownFile& known);

// --out FILE: where the output goes; empty, as - makes it: to standard output.
CLI::Option* add_out_option(
    CLI::App& command, std::string& file,
    const std::string& help = "write to this file instead of standard output");
void add_output_options(CLI::App& command, OutputOptions& options,
                        const std::vector<std::string>& formats);
// --html.
void add_page_option(CLI::App& command, OutputOptions& options);
// An option of one text that may be given several times.
CLI::Option* add_repeatable(CLI::App& command, const std::string& flag,
                            std::vector<std::string>& values, const std::string& help);
void add_threads_option(CLI::App& command, int& threads, const std::string& help);

// An option that says what an experiment runs on. `compare` takes several values of it.
struct SiteOption {
  enum class Takes { kText, kWhole, kMegahertz };
  std::string_view flag;
  std::string_view help;
  Takes takes = Takes::kText;

  // Checks what `option` is given, where that is a number.
  void check(CLI::Option& option) const;
  // What is given as columns of a comparison call it, and as the key of the experiment takes it.
  [[nodiscard]] std::string label(const std::string& given) const;
  [[nodiscard]] std::string value(const std::string& given) const;
};
std::span<const SiteOption> site_options();
inline constexpr std::string_view kSoftwareHelp = "a software set";

// Options of the site but for those flags, each once, and --software.
void add_site_options(CLI::App& command, ExperimentOptions& options,
                      const std::vector<std::string_view>& but);
void add_experiment_options(CLI::App& command, ExperimentOptions& options);
// Those of them that `compare` does not make columns of: those below, and --measured.
void add_uncompared_options(CLI::App& command, ExperimentOptions& options);
// The odds of memory, --set and backends.
void add_setting_options(CLI::App& command, ExperimentOptions& options);
// The experiment's file, its model, and the options of keys, each once.
void add_work_options(CLI::App& command, ExperimentOptions& options);
// What `value` of the option of a key sets.
Assignment key_setting(const KeyOption& option, const std::string& value);
// --tokens, as the key training.tokens.
void add_tokens_option(CLI::App& command, ExperimentOptions& options);
// --backend, of commands that have no experiment.
void add_backends_option(CLI::App& command, std::vector<std::string>& backends);
// --price and --currency.
struct PriceOptions {
  std::vector<std::string> prices;  // mi300x=2.50
  std::string currency;
};
void add_price_options(CLI::App& command, PriceOptions& options);
GpuHourPrices prices_of(const PriceOptions& options);

// Lets `option` take - for standard input.
void take_standard_input(CLI::Option& option);
// Standard input as a file, which the library knows by this name.
inline constexpr const char* kStandardInput = "/dev/stdin";
// What options that name an output call standard output.
inline constexpr const char* kStandardOutput = "-";

// With --data, or the data installed beside the program, or those that it was built from.
Simulator simulator_of(const GlobalOptions& options);

// The experiment, or the sweep, that the options name, with every option to be applied. Throws
// ConfigError.
ExperimentSource source_of(const ExperimentOptions& given, const Simulator& simulator);
// Each told under `option`: "--backend gemm=roofline".
std::vector<Assignment> told_under(const std::string& option,
                                   const std::vector<std::string>& texts);

// By a field of the library's settings the option that sets it: {"layer", "--layer moe"}.
using OptionNames = std::map<std::string, std::string>;
// The problems of the library under the options' names; nothing if none is of a field. A field's
// name may be followed by a value, which stays: "gpus h100" as "--gpu h100".
std::optional<ConfigError> told_by_options(const InputError& error, const OptionNames& names);
// What `call` of the library answers; problems with fields of its settings as of the options.
template <typename Call>
auto asked(const OptionNames& names, const Call& call) {
  try {
    return call();
  } catch (const InputError& error) {
    if (std::optional<ConfigError> told = told_by_options(error, names)) {
      throw std::move(*told);
    }
    throw;
  }
}

// What the output options ask of a report.
ReportForm form_of(const OutputOptions& options, const GlobalOptions& global);
// Writes a report, its page and its plot, a file each, whole or not at all. A page on standard
// output takes the place of a report there.
void write_report(const OutputOptions& options, const Report& report);
// Of these the page and the plot alone.
void write_pictures(const OutputOptions& options, const Report& report);
// All of it, and the exit code of what cannot run.
int answer(const OutputOptions& options, const Report& report);
// Writes to a file, whole or not at all; empty: to standard output.
void write_file(const std::string& file, const std::string& text);

// Of the options that every experiment has whatever its plan and recipe; a fault of the program if
// there is no such option.
std::string_view key_of(std::string_view option);

// The option that sets a key, "--tp" of "plan.tp"; empty where none does.
std::string option_of(std::string_view key);

// "plan.tp=8".
std::string assignment(std::string_view key, std::string_view value);

// What an option with its value sets; its place is the option as it was given, "--tp 8".
Assignment setting_by(const std::string& option, std::string_view key, const std::string& value);

}  // namespace stepcast::cli
