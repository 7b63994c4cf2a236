// SPDX-License-Identifier: Apache-2.0
// `stepcast cost --gpu NAME [FILE]`: JSON lines of operators in, the same lines, or CSV, with
// prices out.
#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "cli/number_option.hpp"

namespace stepcast::cli {
namespace {

struct CostOptions {
  std::string file = kStandardInput;
  OperatorPricing pricing;
  std::vector<std::string> backends;
  OutputOptions output;
};

int run_cost(const CostOptions& options, const GlobalOptions& global) {
  OperatorPricing pricing = options.pricing;
  pricing.backends = told_under("--backend", options.backends);
  const OptionNames names = {{"gpu", "--gpu " + pricing.gpu},
                             {"gpu_clock_mhz", "--gpu-clock-mhz"},
                             {"power_limit", "--power-limit"}};
  write_file(options.output.out, asked(names, [&] {
               return simulator_of(global).cost({options.file}, pricing,
                                                form_of(options.output, global).format);
             }));
  return kDone;
}

}  // namespace

void add_cost(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "cost", "JSON lines of operators in, the same lines or CSV with their predicted time out");
  auto options = std::make_shared<CostOptions>();
  take_standard_input(*command->add_option(
      "file", options->file, "operators, one JSON object a line; default: standard input"));
  command->add_option("--gpu", options->pricing.gpu, "a GPU's name")->required();
  add_backends_option(*command, options->backends);
  command
      ->add_option("--gpu-clock-mhz", options->pricing.gpu_clock_mhz,
                   "lock the clock, MHz; a line that locks its own keeps that")
      ->check(real_number());
  command->add_option("--power-limit", options->pricing.power_limit, "of the GPU: '500 W'");
  command->add_flag("--terms", options->pricing.terms, "add what makes up each time");
  options->output.format = "jsonl";
  add_output_options(*command, options->output, {"jsonl", "csv"});
  on_choice(*command, run, [options, &global] { return run_cost(*options, global); });
}

}  // namespace stepcast::cli
