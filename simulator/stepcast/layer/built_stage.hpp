// SPDX-License-Identifier: Apache-2.0
// One stage of the pipeline as it is built: its layers with their operators and saved tensors, and
// the parameters of everything that it holds. Time, memory and traffic are read off it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "stepcast/layer/layer_expansion.hpp"
#include "stepcast/layer/sharding.hpp"

namespace stepcast {

// The operators of single layers and of the ends of a model, expanded once for all plans that
// divide the work inside a layer alike: whatever their pipelines, their sharding and their data
// parallelism.

// All that the operators of a layer depend on in a plan and a recipe; what moves its parameters and
// gradients depends on more (schedule/solved_steps.hpp).
struct LayerDivision {
  ParallelPlan plan;        // what does not matter left at the defaults, without stages
  TrainingRecipe training;  // without the global batch
  bool operator==(const LayerDivision&) const = default;
};
LayerDivision layer_division(const ExpansionContext& context);

// All contexts that it is given must have the same layer division. For one thread.
class LayerBlocks {
 public:
  struct Layer {
    LayerKind kind;
    std::shared_ptr<const BlockOps> ops;
    Bytes workspace;  // of its backward: the larger of backward_workspace, attention_workspace
  };
  const Layer& layer(const ExpansionContext& context, LayerKind kind);
  std::shared_ptr<const BlockOps> embedding(const ExpansionContext& context);
  std::shared_ptr<const BlockOps> mtp_projection(const ExpansionContext& context);
  std::shared_ptr<const BlockOps> loss(const ExpansionContext& context);
  // Of what holds parameters and runs nothing.
  [[nodiscard]] std::shared_ptr<const BlockOps> nothing() const { return nothing_; }

 private:
  std::vector<Layer> layers_;  // one of each kind
  std::shared_ptr<const BlockOps> embedding_;
  std::shared_ptr<const BlockOps> mtp_projection_;
  std::shared_ptr<const BlockOps> loss_;
  std::shared_ptr<const BlockOps> nothing_ = std::make_shared<const BlockOps>();
};

// Layers of one kind in a stage.
struct BuiltLayer {
  LayerKind kind;
  std::int64_t count = 0;
  std::int64_t recomputed = 0;     // of them, in full
  LocalParameters parameters;      // of one
  WeightMatrices matrices;         // of one, that the optimizer updates as a whole
  double distinct_elements = 0.0;  // trained, of one with one of the experts that a rank holds
  std::shared_ptr<const BlockOps> ops;
  Bytes workspace;  // as of LayerBlocks
};

struct BuiltStage {
  StageContent content;
  std::vector<BuiltLayer> layers;  // in the order of stage_kinds
  StageParameters parameters;      // a tied matrix sits in the first and in the last stage
  LocalParameters embedding;       // of the embedding alone, whether the stage has it or not
  LocalParameters mtp_projection;  // that a multi-token prediction module adds to its layer
  WeightMatrices matrices;         // of all of it, that the optimizer updates as a whole

  [[nodiscard]] HeldWeights weights() const { return {parameters.all(), matrices}; }
};

// Builds the layers of a kind once, however many stages have some. All contexts that it is given
// must have the same layer configuration (schedule/solved_steps.hpp).
class StageBuilder {
 public:
  explicit StageBuilder(std::shared_ptr<LayerBlocks> blocks = std::make_shared<LayerBlocks>())
      : blocks_(std::move(blocks)) {}

  BuiltStage stage(const ExpansionContext& context, std::size_t index);

 private:
  // Parameters of what lies beside the layers, on one rank.
  struct Ends {
    LocalParameters embedding;
    LocalParameters head;
    LocalParameters mtp_projection;
  };

  const BuiltLayer& layer(const ExpansionContext& context, LayerKind kind);
  const Ends& ends(const ExpansionContext& context);
  StageParameters parameters(const ExpansionContext& context, const BuiltStage& stage);

  std::shared_ptr<LayerBlocks> blocks_;
  std::vector<BuiltLayer> layers_;  // one of each kind
  std::optional<Ends> ends_;
};

// Stages of a pipeline with the same layers take the same time and the same memory.
struct StageClass {
  StageContent content;
  std::vector<KindCount> kinds;          // of layers, as stage_kinds gives them
  std::vector<std::int64_t> recomputed;  // layers of each kind that are recomputed in full
  bool operator==(const StageClass&) const = default;
};

struct StageClasses {
  std::vector<StageClass> classes;
  std::vector<std::size_t> first;     // a stage of each class
  std::vector<std::size_t> of_stage;  // the class of each of plan.stages
};

StageClasses stage_classes(const ExpansionContext& context);

}  // namespace stepcast
