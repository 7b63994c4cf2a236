// SPDX-License-Identifier: Apache-2.0
// `stepcast list KIND` and `stepcast describe NAME`: what there is, its equation, its source.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/commands.hpp"
#include "stepcast/api/catalogue.hpp"

namespace stepcast::cli {
namespace {

struct DescribeOptions {
  std::string name;
  OutputOptions output;
};

int run_describe(const DescribeOptions& options, const GlobalOptions& global) {
  write_output(options.output,
               description_of(options.name, data_root(global), {"command line", 0, 0}));
  return kDone;
}

std::vector<std::string> kinds() {
  const std::span<const std::string_view> names = names_of<Listing>();
  return {names.begin(), names.end()};
}

int run_list(const DescribeOptions& options, const GlobalOptions& global) {
  const std::span<const std::string_view> known = names_of<Listing>();
  const auto kind = std::find(known.begin(), known.end(), options.name) - known.begin();
  std::string text;
  for (const std::string& name : listed_names(static_cast<Listing>(kind), data_root(global))) {
    text += name + "\n";
  }
  write_output(options.output, text);
  return kDone;
}

}  // namespace

void add_list(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand("list", "the names of what there is");
  auto options = std::make_shared<DescribeOptions>();
  command->add_option("kind", options->name, "what to list")
      ->required()
      ->check(CLI::IsMember(kinds()));
  command->add_option("--out", options->output.out, "write to this file");
  command->callback([options, &global, &run] {
    run = [options, &global] { return run_list(*options, global); };
  });
}

void add_describe(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "describe",
      "a GPU, cluster, model, software set, backend, collective, dispatcher or schedule, with "
      "its sources");
  auto options = std::make_shared<DescribeOptions>();
  command->add_option("name", options->name, "its name")->required();
  command->add_option("--out", options->output.out, "write to this file");
  command->callback([options, &global, &run] {
    run = [options, &global] { return run_describe(*options, global); };
  });
}

}  // namespace stepcast::cli
