// SPDX-License-Identifier: Apache-2.0
// `stepcast cost --gpu NAME [FILE]`: JSON lines of operators in, the same lines, or CSV, with
// prices out.
#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "cli/number_option.hpp"
#include "stepcast/report/priced_lines.hpp"

namespace stepcast::cli {
namespace {

constexpr std::size_t kLargestInput = 256U << 20U;  // bytes

struct CostOptions {
  std::string file = kStandardInput;
  std::string gpu;
  std::vector<std::string> backends;
  std::optional<double> gpu_clock_mhz;
  std::string power_limit;
  bool terms = false;
  OutputOptions output;
};

LinePricing pricing_of(const CostOptions& options, const DataRoot& data) {
  CostModel model = cost_model(options.backends, data);
  DeviceSpec device = load_gpu(options.gpu, data, {"--gpu " + options.gpu, 0, 0});
  std::optional<Hertz> clock;
  if (options.gpu_clock_mhz) {
    clock = locked_clock(*options.gpu_clock_mhz, device, {"--gpu-clock-mhz", 0, 0});
  }
  if (!options.power_limit.empty()) {
    device.power.limit = power_limit(options.power_limit, device.power, {"--power-limit", 0, 0});
  }
  const HostSpec host = load_named_host(std::string(kUsualHost), data, {"command line", 0, 0});
  return {std::move(model), fabric_of(device, host), clock,
          options.terms ? Detail::kTerms : Detail::kDuration};
}

int run_cost(const CostOptions& options, const GlobalOptions& global) {
  const LinePricing pricing = pricing_of(options, data_root(global));
  const std::string text = read_file(options.file, kLargestInput);
  const std::string name = options.file == kStandardInput ? "stdin" : options.file;
  write_output(options.output, options.output.format == "csv" ? priced_csv(text, name, pricing)
                                                              : priced_lines(text, name, pricing));
  return kDone;
}

}  // namespace

void add_cost(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "cost", "JSON lines of operators in, the same lines or CSV with their predicted time out");
  auto options = std::make_shared<CostOptions>();
  take_standard_input(*command->add_option(
      "file", options->file, "operators, one JSON object a line; default: standard input"));
  command->add_option("--gpu", options->gpu, "a GPU's name")->required();
  command
      ->add_option("--backend", options->backends, "choose a backend: gemm=roofline (repeatable)")
      ->allow_extra_args(false)
      ->take_all();
  command
      ->add_option("--gpu-clock-mhz", options->gpu_clock_mhz,
                   "lock the clock, MHz; a line that locks its own keeps that")
      ->check(real_number());
  command->add_option("--power-limit", options->power_limit, "of the GPU: '500 W'");
  command->add_flag("--terms", options->terms, "add what makes up each time");
  options->output.format = "jsonl";
  add_output_options(*command, options->output, {"jsonl", "csv"});
  command->callback([options, &global, &run] {
    run = [options, &global] { return run_cost(*options, global); };
  });
}

}  // namespace stepcast::cli
