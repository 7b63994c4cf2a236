// SPDX-License-Identifier: Apache-2.0
// `stepcast import hf FILE`: a model file from a Hugging Face config.json.
// `stepcast import records FILE`: measured rows of any format as canonical records.
#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "importers/hf_config.hpp"
#include "importers/measurement_files.hpp"

namespace stepcast::cli {
namespace {

struct ImportOptions {
  std::string file;
  std::string name;
  OutputOptions output;
};

int run_import_hf(const ImportOptions& options) {
  const std::string name =
      options.name.empty() ? std::filesystem::path(options.file).stem().string() : options.name;
  const ModelSpec model = import_hf_config(read_file(options.file), options.file, name);
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

void add_import_records(CLI::App& command, const GlobalOptions& global, Run& run) {
  CLI::App* records = command.add_subcommand(
      "records",
      "measured rows of any format as canonical records, with what was assumed for each");
  auto options = std::make_shared<ImportOptions>();
  records->add_option("file", options->file, "a file of measurements (JSON lines or CSV)")
      ->required();
  records->add_option("--out", options->output.out,
                      "write to this file instead of standard output");
  records->callback([options, &global, &run] {
    run = [options, &global] { return run_import_records(*options, global); };
  });
}

}  // namespace

void add_import(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "import", "a model file or canonical records from what you already have");
  command->require_subcommand(1);
  CLI::App* hf = command->add_subcommand("hf", "from a Hugging Face config.json");
  auto options = std::make_shared<ImportOptions>();
  hf->add_option("file", options->file, "config.json")->required();
  hf->add_option("--name", options->name, "the model's name; the file's stem if not given");
  hf->add_option("--out", options->output.out, "write to this file instead of standard output");
  hf->callback([options, &run] { run = [options] { return run_import_hf(*options); }; });
  add_import_records(*command, global, run);
}

}  // namespace stepcast::cli
