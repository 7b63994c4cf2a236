// SPDX-License-Identifier: Apache-2.0
// `stepcast list KIND` and `stepcast describe NAME`: what there is, its equation, its source.
#include <CLI/CLI.hpp>

#include "cli/commands.hpp"

namespace stepcast::cli {
namespace {

struct DescribeOptions {
  std::string name;
  std::vector<std::string> words;  // behind the first; NAME of `describe format NAME` has several
  OutputOptions output;
};

int run_list(const DescribeOptions& options, const GlobalOptions& global) {
  return answer(options.output,
                simulator_of(global).list_report(options.name, form_of(options.output, global)));
}

int run_describe(const DescribeOptions& options, const GlobalOptions& global) {
  std::string name = options.name;
  if (name == "format") {
    for (const std::string& word : options.words) {
      name += " " + word;
    }
    name += options.words.empty() ? " " : "";
  } else if (!options.words.empty()) {
    throw ConfigError({"command line", 0, 0}, "give one name, or: format NAME");
  }
  return asked({{"name", "command line"}}, [&] {
    return answer(options.output,
                  simulator_of(global).describe_report(name, form_of(options.output, global)));
  });
}

}  // namespace

void add_list(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand("list", "the names of what there is");
  auto options = std::make_shared<DescribeOptions>();
  command->add_option("kind", options->name, "what to list")
      ->required()
      ->check(CLI::IsMember(Simulator::kinds()));
  add_output_options(*command, options->output, {"text", "json"});
  on_choice(*command, run, [options, &global] { return run_list(*options, global); });
}

void add_describe(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "describe",
      "a GPU, cluster, model, software set, backend, collective, dispatcher, schedule or format, "
      "with its sources; a model, GPU or cluster file of your own");
  auto options = std::make_shared<DescribeOptions>();
  command->add_option("name", options->name, "its name, or a file, or: format")->required();
  command->add_option("of", options->words, "of a format of measurements: its name");
  add_output_options(*command, options->output, {"text", "json"});
  on_choice(*command, run, [options, &global] { return run_describe(*options, global); });
}

}  // namespace stepcast::cli
