// SPDX-License-Identifier: Apache-2.0
// The operators of single layers and of the ends of a model, expanded once for all plans that
// divide the work inside a layer alike: whatever their pipelines, their sharding and their data
// parallelism.
#pragma once

#include <memory>
#include <vector>

#include "stepcast/layer/layer_expansion.hpp"

namespace stepcast {

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

}  // namespace stepcast
