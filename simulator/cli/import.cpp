// SPDX-License-Identifier: Apache-2.0
// `stepcast import FRAMEWORK FILE`: an experiment from a framework's launch file.
// `stepcast import FILE`: the same, where the file's form says whose it is; - is standard input.
// `stepcast import hf FILE`: a model file from a Hugging Face config.json.
// `stepcast import records FILE`: measured rows of any format as canonical records.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "cli/commands.hpp"
#include "cli/number_option.hpp"
#include "stepcast/base/error.hpp"
#include "stepcast/base/text_list.hpp"

namespace stepcast::cli {
namespace {

struct ImportOptions {
  std::string file;
  std::string name;
  ImportSettings settings;
  OutputOptions output;
};

void tell(const std::string& lines, const GlobalOptions& global) {
  if (!global.quiet && !lines.empty()) {
    std::fputs(lines.c_str(), stderr);
  }
}

// The file, as it was read already where no word says whose it is, which is told first: what
// follows may be refused.
TextSource source_of(const ImportOptions& options, const GlobalOptions& global) {
  if (!global.recognized) {
    return {options.file};
  }
  tell(told_door(*global.recognized) + '\n', global);
  return global.recognized->source;
}

int run_import(const std::string& framework, const ImportOptions& options,
               const GlobalOptions& global) {
  const TextSource source = source_of(options, global);
  const Imported imported =
      simulator_of(global).import_experiment(framework, source, options.settings);
  tell(imported.remarks, global);
  write_file(options.output.out, imported.text);
  return kDone;
}

int run_import_hf(const ImportOptions& options, const GlobalOptions& global) {
  const TextSource source = source_of(options, global);
  write_file(options.output.out, simulator_of(global).import_model(source, options.name));
  return kDone;
}

int run_import_records(const ImportOptions& options, const GlobalOptions& global) {
  write_file(options.output.out, simulator_of(global).canonical_records({options.file}));
  return kDone;
}

void add_import_framework(CLI::App& command, const Framework& framework,
                          const GlobalOptions& global, Run& run) {
  CLI::App* from = command.add_subcommand(framework.name, "an experiment from " + framework.reads);
  from->footer("Example: stepcast " + framework.example);
  auto options = std::make_shared<ImportOptions>();
  take_standard_input(
      *from->add_option("file", options->file, framework.reads + "; - is standard input")
           ->required());
  from->add_option("overrides", options->settings.overrides,
                   "KEY=VALUE in the framework's own words, instead of what the file says");
  from->add_option("--gpu", options->settings.gpu, "a GPU's name, where the file names none");
  from->add_option("--nodes", options->settings.nodes, "number of nodes")->check(whole_number());
  from->add_option("--software", options->settings.software,
                   "a software set, instead of the usual one");
  if (framework.dated) {
    from->add_option("--release", options->settings.release,
                     "the framework's month or day, as 2026-03; left out: by the file's form");
  }
  from->add_flag("--lenient", options->settings.lenient, "list keys that are not known, and go on");
  add_out_option(*from, options->output.out);
  on_choice(*from, run, [options, name = framework.name, &global] {
    return run_import(name, *options, global);
  });
}

void add_import_hf(CLI::App& command, const GlobalOptions& global, Run& run) {
  CLI::App* hf = command.add_subcommand("hf", "a model file from a Hugging Face config.json");
  hf->footer("Example: stepcast import hf config.json --name mine --out mine.yaml");
  auto options = std::make_shared<ImportOptions>();
  take_standard_input(
      *hf->add_option("file", options->file, "config.json or its folder; - is standard input")
           ->required());
  hf->add_option("--name", options->name,
                 "the model's name; left out: the file's, or its folder's if it is config.json");
  add_out_option(*hf, options->output.out);
  on_choice(*hf, run, [options, &global] { return run_import_hf(*options, global); });
}

void add_import_records(CLI::App& command, const GlobalOptions& global, Run& run) {
  CLI::App* records = command.add_subcommand(
      "records",
      "measured rows of any format as canonical records, with what was assumed for each");
  records->footer("Example: stepcast import records tests/validation/pair_steps.jsonl");
  auto options = std::make_shared<ImportOptions>();
  take_standard_input(
      *records->add_option("file", options->file, "a file of measurements (JSON lines or CSV)")
           ->required());
  add_out_option(*records, options->output.out);
  on_choice(*records, run, [options, &global] { return run_import_records(*options, global); });
}

constexpr std::string_view kDataOption = "--data";

// Where the command's name stands, behind the options of all commands; behind the last argument if
// there is none.
std::size_t place_of_command(const std::vector<std::string>& arguments) {
  std::size_t place = 0;
  while (place < arguments.size() && arguments[place].starts_with("-")) {
    place += arguments[place] == kDataOption ? 2 : 1;
  }
  return std::min(place, arguments.size());
}

// Of `import FILE`, which begins at `command`, the file, of which - is standard input; empty where
// a word says what it is.
std::string unnamed_file(const std::vector<std::string>& arguments, std::size_t command) {
  std::vector<std::string> known = {"hf", "records"};
  for (const Framework& framework : Simulator::frameworks()) {
    known.push_back(framework.name);
  }
  std::string file;
  for (auto argument = arguments.begin() + static_cast<std::ptrdiff_t>(command) + 1;
       argument != arguments.end(); ++argument) {
    std::error_code error;
    if (std::ranges::find(known, *argument) != known.end()) {
      return {};
    }
    if (file.empty() && (*argument == "-" || std::filesystem::is_regular_file(*argument, error))) {
      file = *argument == "-" ? kStandardInput : *argument;
    }
  }
  return file;
}

// The value of --data, which is looked for before the options are read.
std::string data_of(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == kDataOption && i + 1 < arguments.size()) {
      return arguments[i + 1];
    }
    if (argument.starts_with(std::string(kDataOption) + "=")) {
      return argument.substr(kDataOption.size() + 1);
    }
  }
  return {};
}

// What imports a file whose framework no word names. Throws ConfigError where nothing does.
KnownFile known_file(const std::string& file, const std::vector<std::string>& arguments) {
  GlobalOptions options;
  options.data = data_of(arguments);
  const std::optional<KnownFile> known = simulator_of(options).known_file({file});
  if (!known) {
    throw ConfigError(
        {file == kStandardInput ? "standard input" : file, 0, 0},
        "shows no sign of a format that is known; name its framework: stepcast import " +
            text_list(Simulator::frameworks(), "|", &Framework::name) + "|hf " +
            (file == kStandardInput ? "-" : file));
  }
  if (known->door.empty()) {
    const Problem& refusal = known->refusal;
    throw ConfigError({refusal.file, refusal.line, refusal.column}, refusal.message);
  }
  return *known;
}

bool is_dotted(const std::string& argument) {
  const std::string name = argument.substr(0, argument.find('='));
  return name.starts_with("--") && name.find('.') != std::string::npos;
}

}  // namespace

ForeignArguments with_framework_arguments(std::vector<std::string> arguments) {
  const std::size_t command = place_of_command(arguments);
  if (command == arguments.size() || arguments[command] != "import") {
    return {std::move(arguments), {}};
  }
  std::optional<KnownFile> known;
  if (const std::string file = unnamed_file(arguments, command); !file.empty()) {
    known = known_file(file, arguments);
    arguments.insert(arguments.begin() + static_cast<std::ptrdiff_t>(command) + 1, known->door);
  }
  std::vector<std::string> joined;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string argument = std::move(arguments[i]);
    if (is_dotted(argument)) {
      argument.erase(0, 2);
      if (argument.find('=') == std::string::npos) {
        const bool has_value = i + 1 < arguments.size() && !arguments[i + 1].starts_with("--");
        argument += "=" + (has_value ? arguments[++i] : "true");
      }
    }
    joined.push_back(std::move(argument));
  }
  return {std::move(joined), std::move(known)};
}

void add_import(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "import", "an experiment, a model file or canonical records from what you already have");
  command->require_subcommand(1);
  command->footer("Example: stepcast import FILE: finds out what the file is");
  for (const Framework& framework : Simulator::frameworks()) {
    add_import_framework(*command, framework, global, run);
  }
  add_import_hf(*command, global, run);
  add_import_records(*command, global, run);
}

}  // namespace stepcast::cli
