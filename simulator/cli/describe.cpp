// SPDX-License-Identifier: Apache-2.0
// `stepcast list KIND` and `stepcast describe NAME`: what there is, its equation, its source.
#include <CLI/CLI.hpp>

#include "cli/commands.hpp"

namespace stepcast::cli {
namespace {

struct DescribeOptions {
  std::string name;
  std::vector<std::string> words;  // behind the first; NAME of `describe format NAME` has several
  std::string kind_of_template;
  OutputOptions output;
};

int run_list(const DescribeOptions& options, const GlobalOptions& global) {
  return answer(options.output,
                simulator_of(global).list_report(options.name, form_of(options.output, global)));
}

int run_describe(const DescribeOptions& options, const GlobalOptions& global) {
  if (!options.kind_of_template.empty()) {
    if (!options.name.empty()) {
      throw ConfigError({"command line", 0, 0},
                        "'" + options.name +
                            "' has no place beside --template, which prints a file "
                            "to begin one of your own with");
    }
    if (form_of(options.output, global).format != ReportFormat::kText) {
      throw ConfigError({"--format", 0, 0}, "a template is a file of text; leave --format out");
    }
    return asked({{"template", "--template"}}, [&] {
      return answer(
          options.output,
          {.feasible = true, .text = simulator_of(global).template_of(options.kind_of_template)});
    });
  }
  std::string name = options.name;
  if (name.empty()) {
    throw ConfigError({"command line", 0, 0},
                      "give a name, a word or a file, as h100_sxm or tp; 'stepcast list' shows "
                      "what there is");
  }
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
  command->add_option("kind", options->name, "what to list; without it, what there is to list")
      ->check(CLI::IsMember(Simulator::kinds()));
  add_output_options(*command, options->output, {"text", "json"});
  on_choice(*command, run, [options, &global] { return run_list(*options, global); });
}

void add_describe(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "describe",
      "a GPU, cluster, model, software set, backend, collective, dispatcher, schedule or format, "
      "with its sources; a model, GPU or cluster file of your own; a word of a report, as MFU");
  auto options = std::make_shared<DescribeOptions>();
  command->add_option("name", options->name, "its name, or a word, or a file, or: format");
  command->add_option("of", options->words, "of a format of measurements: its name");
  command->add_option(
      "--template", options->kind_of_template,
      "print a commented file to begin one of your own with: gpu, cluster, model or "
      "software");
  add_output_options(*command, options->output, {"text", "json"});
  on_choice(*command, run, [options, &global] { return run_describe(*options, global); });
}

}  // namespace stepcast::cli
