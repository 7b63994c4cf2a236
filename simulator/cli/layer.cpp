// SPDX-License-Identifier: Apache-2.0
// `stepcast layer`.
#include <CLI/CLI.hpp>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/number_option.hpp"
#include "cli/page_output.hpp"
#include "stepcast/experiment/dispatcher_map.hpp"
#include "stepcast/experiment/lone_layer_study.hpp"
#include "stepcast/report/dispatcher_map_report.hpp"
#include "stepcast/report/layer_report.hpp"

namespace stepcast::cli {
namespace {

struct LayerOptions {
  ExperimentOptions experiment;
  OutputOptions output;
  LayerQuestion question;
  std::string part;
  std::string state = "warm";
  bool forward_only = false;
  bool map = false;
  MapAxes axes;
};

void refuse(const std::string& option, const std::string& problem) {
  if (!problem.empty()) {
    throw ConfigError({option, 0, 0}, problem);
  }
}

template <typename E, std::size_t N>
std::vector<std::string> names_in(const std::array<NamedValue<E>, N>& values) {
  std::vector<std::string> names;
  names.reserve(N);
  for (const NamedValue<E>& value : values) {
    names.emplace_back(value.name);
  }
  return names;
}

template <typename E, std::size_t N>
std::map<std::string, E> by_name(const std::array<NamedValue<E>, N>& values) {
  std::map<std::string, E> map;
  for (const auto& [name, value] : values) {
    map.emplace(name, value);
  }
  return map;
}

LayerQuestion question_of(const LayerOptions& options, const ModelSpec& model) {
  LayerQuestion question = options.question;
  if (!options.part.empty()) {
    question.part = by_name(kLayerParts).at(options.part);
  }
  question.use = options.forward_only ? LayerUse::kInference : LayerUse::kTraining;
  question.state = by_name(kUnlockedStates).at(options.state);
  refuse("--layer " + question.layer, layer_problem(model, question));
  return question;
}

int run_map(const LayerOptions& options, Experiment& experiment, const DataRoot& data) {
  refuse("--map", map_problem(experiment.model, options.axes));
  const CostModel cost = cost_model(experiment, data);
  const DispatcherMap map = dispatcher_map(experiment, options.axes, cost);
  write_report(options.output,
               options.output.format == "json" ? json_text(to_json(map)) : to_text(map));
  return map.projection.feasible ? kDone : kPlanCannotRun;
}

int run_layer(const LayerOptions& options, const GlobalOptions& global) {
  const DataRoot data = data_root(global);
  Experiment experiment = load_experiment(options.experiment, data);
  if (options.map) {
    return run_map(options, experiment, data);
  }
  const LayerQuestion question = question_of(options, experiment.model);
  const CostModel cost = cost_model(experiment, data);
  const LayerStudy report = study_layer(experiment, question, cost);
  write_report(options.output,
               options.output.format == "json" ? json_text(to_json(report)) : to_text(report));
  return report.projection.feasible ? kDone : kPlanCannotRun;
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
      ->add_option("--layer", options->question.layer,
                   "moe, dense, or a layer's number from 0; left out: one with experts where "
                   "the model has some")
      ->excludes(map);
  command
      ->add_option("--block", options->part,
                   "experts: router, exchange and experts alone (with experts the default); whole: "
                   "all of the layer")
      ->check(CLI::IsMember(names_in(kLayerParts)))
      ->excludes(map);
  command
      ->add_option("--state", options->state,
                   "warm: repeated for long; cool: the first calls after a pause")
      ->check(CLI::IsMember(names_in(kUnlockedStates)))
      ->capture_default_str()
      ->excludes(map);
  command
      ->add_flag("--forward-only", options->forward_only,
                 "inference: nothing is kept, and there is no backward")
      ->excludes(map);
  add_axis(*command, "--map-ranks", options->axes.ranks, "ranks of --map: 4,8,16");
  add_axis(*command, "--map-nodes", options->axes.nodes, "nodes that they lie on: 1,2,8");
  add_axis(*command, "--map-topk", options->axes.topk, "experts of a token: 2,8");
  add_axis(*command, "--map-tokens", options->axes.tokens, "tokens of a rank: 1024,4096");
  command->callback([options, &global, &run] {
    run = [options, &global] { return run_layer(*options, global); };
  });
}

}  // namespace stepcast::cli
