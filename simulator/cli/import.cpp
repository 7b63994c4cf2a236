// SPDX-License-Identifier: Apache-2.0
// `stepcast import FRAMEWORK FILE`: an experiment from a framework's launch file.
// `stepcast import FILE`: the same, where the file's form says whose it is.
// `stepcast import hf FILE`: a model file from a Hugging Face config.json.
// `stepcast import records FILE`: measured rows of any format as canonical records.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "cli/commands.hpp"
#include "cli/number_option.hpp"

namespace stepcast::cli {
namespace {

struct ImportOptions {
  std::string file;
  std::string name;
  ImportSettings settings;
  OutputOptions output;
};

int run_import(const std::string& framework, const ImportOptions& options,
               const GlobalOptions& global) {
  const Imported imported =
      simulator_of(global).import_experiment(framework, {options.file}, options.settings);
  if (!global.quiet) {
    std::fputs(imported.remarks.c_str(), stderr);
  }
  write_file(options.output.out, imported.text);
  return kDone;
}

int run_import_hf(const ImportOptions& options, const GlobalOptions& global) {
  write_file(options.output.out, simulator_of(global).import_model({options.file}, options.name));
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

// Of `import FILE`: the framework whose file it is; empty where the first argument is no file, or
// of none that is known by its form.
std::string framework_of_file(const std::vector<std::string>& arguments) {
  std::error_code error;
  const std::vector<Framework> known = Simulator::frameworks();
  const bool named = arguments.size() > 1 && arguments[1] != "hf" && arguments[1] != "records" &&
                     std::ranges::find(known, arguments[1], &Framework::name) == known.end() &&
                     std::filesystem::is_regular_file(arguments[1], error);
  try {
    return named ? Simulator::framework_of_file({arguments[1]}) : std::string{};
  } catch (const InputError&) {
    return {};
  }
}

bool is_dotted(const std::string& argument) {
  const std::string name = argument.substr(0, argument.find('='));
  return name.starts_with("--") && name.find('.') != std::string::npos;
}

}  // namespace

std::vector<std::string> with_framework_arguments(std::vector<std::string> arguments) {
  if (arguments.empty() || arguments.front() != "import") {
    return arguments;
  }
  if (const std::string framework = framework_of_file(arguments); !framework.empty()) {
    arguments.insert(arguments.begin() + 1, framework);
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
  return joined;
}

void add_import(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "import", "an experiment, a model file or canonical records from what you already have");
  command->require_subcommand(1);
  for (const Framework& framework : Simulator::frameworks()) {
    add_import_framework(*command, framework, global, run);
  }
  add_import_hf(*command, global, run);
  add_import_records(*command, global, run);
}

}  // namespace stepcast::cli
