// SPDX-License-Identifier: Apache-2.0
#include "stepcast/diagnosis/varied_run.hpp"

#include <utility>

#include "stepcast/base/error.hpp"
#include "stepcast/experiment/project.hpp"

namespace stepcast {
namespace {

// The tree of an experiment whose plan a search chose, with that plan.
ExperimentTree with_plan(const ExperimentTree& tree, const Experiment& experiment) {
  if (!experiment.named.plan_assumed) {
    return tree;
  }
  ExperimentTree whole{settled_experiment(experiment), tree.folder};
  apply_overrides(whole.root, {Override("plan.dp=null"), Override("plan.fsdp=null")});
  return whole;
}

}  // namespace

VariedRun::VariedRun(const ExperimentTree& tree, const Experiment& experiment,
                     ProfileCache& profiles, const CostModel& cost)
    : tree_(with_plan(tree, experiment)),
      experiment_(experiment),
      profiles_(profiles),
      cost_(cost) {}

Variant VariedRun::variant(const KeySettings& settings) const {
  ConfigNode root = tree_.root;
  for (const auto& [key, value] : settings) {
    apply_override(root, Override(key + "=" + value));
  }
  Experiment varied = read_experiment(root, tree_.folder, profiles_);
  varied.backends = experiment_.backends;
  Projection projection = project(varied, cost_);
  return {std::move(varied), std::move(projection)};
}

Projection VariedRun::projected(const KeySettings& settings) const {
  return variant(settings).projection;
}

std::optional<Variant> VariedRun::variant_if_possible(const KeySettings& settings) const {
  try {
    Variant varied = variant(settings);
    return varied.projection.priced ? std::optional(std::move(varied)) : std::nullopt;
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

std::optional<Projection> VariedRun::if_possible(const KeySettings& settings) const {
  std::optional<Variant> varied = variant_if_possible(settings);
  return varied ? std::optional(std::move(varied->projection)) : std::nullopt;
}

}  // namespace stepcast
