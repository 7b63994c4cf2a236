// SPDX-License-Identifier: Apache-2.0
// `stepcast layer`.
#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "cli/number_option.hpp"

namespace stepcast::cli {
namespace {

struct LayerOptions {
  ExperimentOptions experiment;
  OutputOptions output;
  LayerSettings layer;
  bool map = false;
  LayerMapSettings axes;
};

int run_layer(const LayerOptions& options, const GlobalOptions& global) {
  const Simulator simulator = simulator_of(global);
  const ExperimentSource source = source_of(options.experiment, simulator);
  const ReportForm form = form_of(options.output, global);
  return asked({{"layer", "--layer " + options.layer.layer}, {"map", "--map"}}, [&] {
    return answer(options.output, options.map
                                      ? simulator.layer_map_report(source, options.axes, form)
                                      : simulator.layer_report(source, options.layer, form));
  });
}

// Of --map alone.
void add_axis(CLI::App& command, const char* option, std::vector<std::int64_t>& values,
              const char* meaning) {
  command.add_option(option, values, meaning)
      ->needs("--map")
      ->delimiter(',')
      ->check(whole_number({1, 1 << 24}));
}

}  // namespace

void add_layer(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "layer",
      "one layer by itself: exchanges, saved tensors, forward, backward, exposed time, scaling");
  auto options = std::make_shared<LayerOptions>();
  add_experiment_options(*command, options->experiment);
  add_output_options(*command, options->output, {"text", "json"});
  CLI::Option* map = command->add_flag(
      "--map", options->map,
      "instead: which dispatcher is the fastest over ranks, choices, tokens, nodes");
  command
      ->add_option("--layer", options->layer.layer,
                   "moe, dense, or a layer's number from 0; left out: one with experts where "
                   "the model has some")
      ->excludes(map);
  command
      ->add_option("--block", options->layer.block,
                   "experts: router, exchange and experts alone (with experts the default); whole: "
                   "all of the layer")
      ->check(CLI::IsMember({"experts", "whole"}))
      ->excludes(map);
  command
      ->add_option("--state", options->layer.state,
                   "warm: repeated for long; cool: the first calls after a pause")
      ->check(CLI::IsMember({"warm", "cool"}))
      ->capture_default_str()
      ->excludes(map);
  command
      ->add_flag("--forward-only", options->layer.forward_only,
                 "inference: nothing is kept, and there is no backward")
      ->excludes(map);
  add_axis(*command, "--map-ranks", options->axes.ranks, "ranks of --map: 4,8,16");
  add_axis(*command, "--map-nodes", options->axes.nodes, "nodes that they lie on: 1,2,8");
  add_axis(*command, "--map-topk", options->axes.topk, "experts of a token: 2,8");
  add_axis(*command, "--map-tokens", options->axes.tokens, "tokens of a rank: 1024,4096");
  on_choice(*command, run, [options, &global] { return run_layer(*options, global); });
}

}  // namespace stepcast::cli
