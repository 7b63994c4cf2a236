// SPDX-License-Identifier: Apache-2.0
// `stepcast import FRAMEWORK FILE`: an experiment from a framework's launch file.
// `stepcast import hf FILE`: a model file from a Hugging Face config.json.
// `stepcast import records FILE`: measured rows of any format as canonical records.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/commands.hpp"
#include "cli/number_option.hpp"
#include "frameworks/framework_table.hpp"
#include "frameworks/hf_config.hpp"
#include "frameworks/import_check.hpp"
#include "importers/measurement_files.hpp"

namespace stepcast::cli {
namespace {

struct ImportOptions {
  std::string file;
  std::string name;
  std::string gpu;
  std::optional<std::int64_t> nodes;
  std::string software;
  std::vector<std::string> overrides;
  bool lenient = false;
  OutputOptions output;
};

std::string name_of(const std::string& file) {
  return file == kStandardInput ? "standard input" : file;
}

// Where the files lie that a file names: none for standard input.
std::filesystem::path folder_of(const std::string& file) {
  if (file == kStandardInput) {
    return {};
  }
  const std::filesystem::path parent = std::filesystem::path(file).parent_path();
  return parent.empty() ? std::filesystem::path(".") : parent;
}

ImportInput input_of(const FrameworkInfo& framework, const ImportOptions& options,
                     const GlobalOptions& global) {
  ImportInput input;
  std::error_code error;
  const bool named = framework.takes_name && options.file != kStandardInput &&
                     !std::filesystem::exists(options.file, error);
  input.text = named ? options.file : read_file(options.file);
  input.file = name_of(options.file);
  input.folder = folder_of(options.file);
  input.overrides = options.overrides;
  input.gpu = options.gpu;
  input.nodes = options.nodes;
  input.software = options.software;
  input.unknown = options.lenient ? UnknownSettings::kRemarked : UnknownSettings::kRefused;
  input.data = data_root(global);
  return input;
}

int run_import(const FrameworkInfo& framework, const ImportOptions& options,
               const GlobalOptions& global) {
  const ImportInput input = input_of(framework, options, global);
  const ImportedExperiment imported = framework.import_from(input);
  check_import(imported, input);
  if (!global.quiet) {
    std::fputs(remarks_text(imported, input.file).c_str(), stderr);
  }
  write_output(options.output, to_yaml(imported, input.file));
  return kDone;
}

// What a model is called whose file does not say: a file that is called as all are has the name of
// its folder.
std::string usual_name(const std::filesystem::path& file) {
  if (file.filename() != "config.json") {
    return file.stem().string();
  }
  const std::string folder =
      std::filesystem::weakly_canonical(file).parent_path().filename().string();
  return folder.empty() ? file.stem().string() : folder;
}

// A folder stands for its config.json.
int run_import_hf(const ImportOptions& options) {
  const std::filesystem::path given(options.file);
  std::error_code error;
  const bool folder = std::filesystem::is_directory(given, error);
  const std::string file = folder ? (given / "config.json").string() : options.file;
  const std::string usual = usual_name(file);
  const std::string name = options.name.empty() ? usual : options.name;
  const ModelSpec model = import_hf_config(read_file(file), name_of(file), name);
  write_output(options.output, to_yaml(model));
  return kDone;
}

int run_import_records(const ImportOptions& options, const GlobalOptions& global) {
  constexpr std::size_t kLargestData = 256U << 20U;  // bytes
  ProfileCache profiles(data_root(global));
  const std::string text = read_file(options.file, kLargestData);
  write_output(options.output, to_json_lines(import_records(text, options.file, profiles)));
  return kDone;
}

void add_import_framework(CLI::App& command, const FrameworkInfo& framework,
                          const GlobalOptions& global, Run& run) {
  CLI::App* from = command.add_subcommand(std::string(framework.name),
                                          "an experiment from " + std::string(framework.reads));
  from->footer("Example: stepcast " + std::string(framework.example));
  auto options = std::make_shared<ImportOptions>();
  take_standard_input(*from->add_option("file", options->file,
                                        std::string(framework.reads) + "; - is standard input")
                           ->required());
  from->add_option("overrides", options->overrides,
                   "KEY=VALUE in the framework's own words, instead of what the file says");
  from->add_option("--gpu", options->gpu, "a GPU's name, where the file names none");
  from->add_option("--nodes", options->nodes, "number of nodes")->check(whole_number());
  from->add_option("--software", options->software, "a software set, instead of the usual one");
  from->add_flag("--lenient", options->lenient, "list keys that are not known, and go on");
  add_out_option(*from, options->output.out);
  from->callback([options, &framework, &global, &run] {
    run = [options, &framework, &global] { return run_import(framework, *options, global); };
  });
}

void add_import_hf(CLI::App& command, Run& run) {
  CLI::App* hf = command.add_subcommand("hf", "a model file from a Hugging Face config.json");
  hf->footer("Example: stepcast import hf config.json --name mine --out mine.yaml");
  auto options = std::make_shared<ImportOptions>();
  take_standard_input(
      *hf->add_option("file", options->file, "config.json or its folder; - is standard input")
           ->required());
  hf->add_option("--name", options->name,
                 "the model's name; left out: the file's, or its folder's if it is config.json");
  add_out_option(*hf, options->output.out);
  hf->callback([options, &run] { run = [options] { return run_import_hf(*options); }; });
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
  records->callback([options, &global, &run] {
    run = [options, &global] { return run_import_records(*options, global); };
  });
}

}  // namespace

void add_import(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "import", "an experiment, a model file or canonical records from what you already have");
  command->require_subcommand(1);
  for (const FrameworkInfo& framework : frameworks()) {
    add_import_framework(*command, framework, global, run);
  }
  add_import_hf(*command, run);
  add_import_records(*command, global, run);
}

}  // namespace stepcast::cli
