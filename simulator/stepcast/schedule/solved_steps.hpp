// SPDX-License-Identifier: Apache-2.0
// What steps of one model, software, cluster and cost model have in common, solved once and kept
// from plan to plan: the stages of each layer configuration, and the pipelines around them.
//
// For one thread. What it has kept changes no number, only how soon it is there.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "stepcast/layer/layer_expansion.hpp"
#include "stepcast/memory/memory_footprint.hpp"
#include "stepcast/schedule/solved_configuration.hpp"
#include "stepcast/schedule/solved_pipelines.hpp"

namespace stepcast {

// All that the operators of a layer depend on in a plan and a recipe: everything but the pipeline
// that the layer is part of.
//
// Plans with the same layer configuration run the same operators for a layer, keep the same tensors
// of it, and reduce the same gradients: whoever solves many plans solves that once.
struct LayerConfiguration {
  ParallelPlan plan;               // its pipeline left at the defaults
  TrainingRecipe training;         // without the global batch
  bool accumulates = false;        // gradients over more than one micro-batch
  std::int64_t mirrored_over = 0;  // ranks of a pipeline in which every stage lies on two of them
  bool operator==(const LayerConfiguration&) const = default;
};

LayerConfiguration layer_configuration(const ExpansionContext& context);
// Equal for equal configurations.
std::size_t hash_of(const LayerConfiguration& configuration);

// Where the parts of a plan are among what SolvedSteps keeps.
struct PlanOutline {
  SolvedConfiguration* configuration = nullptr;
  StageClasses classes;
  std::vector<std::size_t> solved;  // of each class: its number in the configuration

  // The number in the configuration of the class of stage `index`.
  [[nodiscard]] std::size_t stage(std::size_t index) const {
    return solved[classes.of_stage[index]];
  }
};

class SolvedSteps {
 public:
  // With pipelines, which others may use, too, and the work of layers, which others on the same
  // thread may.
  explicit SolvedSteps(
      std::shared_ptr<SolvedPipelines> pipelines = std::make_shared<SolvedPipelines>(),
      std::shared_ptr<LayerWorks> works = std::make_shared<LayerWorks>())
      : pipelines_(std::move(pipelines)), works_(std::move(works)) {}

  // Good until the next call.
  PlanOutline outline(const ExpansionContext& context);

  // As memory_by_stage of the plan that `outline` is of; no further than to the first rank that
  // is not as sure as `limit`, or holds as much as `too_much`.
  std::vector<StageMemory> memory(const PlanOutline& outline, const ExpansionContext& context,
                                  std::optional<MemoryLimit> limit = std::nullopt,
                                  std::optional<Bytes> too_much = std::nullopt);

  PlanPipeline pipeline(const ParallelPlan& plan, const PipelineRuntime& runtime);

  PipelineScratch& scratch() { return scratch_; }
  // For who has changed numbers of the host: what ran by them; stages and pipelines stay.
  void forget_times();

 private:
  struct ConfigurationHash {
    std::size_t operator()(const LayerConfiguration& configuration) const {
      return hash_of(configuration);
    }
  };
  void forget_if_many();

  std::unordered_map<LayerConfiguration, SolvedConfiguration, ConfigurationHash> configurations_;
  std::shared_ptr<SolvedPipelines> pipelines_;
  std::shared_ptr<LayerWorks> works_;
  PipelineScratch scratch_;
};

}  // namespace stepcast
