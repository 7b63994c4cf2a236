// SPDX-License-Identifier: Apache-2.0
// `stepcast import hf FILE`: a model file from a Hugging Face config.json.
#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "importers/hf_config.hpp"

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

}  // namespace

void add_import(CLI::App& program, Run& run) {
  CLI::App* command = program.add_subcommand("import", "a model file from what you already have");
  command->require_subcommand(1);
  CLI::App* hf = command->add_subcommand("hf", "from a Hugging Face config.json");
  auto options = std::make_shared<ImportOptions>();
  hf->add_option("file", options->file, "config.json")->required();
  hf->add_option("--name", options->name, "the model's name; the file's stem if not given");
  hf->add_option("--out", options->output.out, "write to this file instead of standard output");
  hf->callback([options, &run] { run = [options] { return run_import_hf(*options); }; });
}

}  // namespace stepcast::cli
