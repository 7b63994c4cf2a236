// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/built_stage.hpp"

#include <algorithm>
#include <utility>

#include "stepcast/base/real.hpp"
#include "stepcast/layer/recompute_choice.hpp"

namespace stepcast {
namespace {

WeightMatrices matrices_of(const ParameterList& parameters, const ExpansionContext& context) {
  return weight_matrices(parameters, context.plan, context.training, context.software);
}

// Of what lies on a stage beside its layers' own: a copy of a tied matrix included.
void add_ends(const ExpansionContext& context, const StageContent& content,
              WeightMatrices& matrices) {
  const TrainedWeights& weights = context.training.weights;
  const WeightMatrices embedding =
      matrices_of(embedding_parameters(context.model, weights), context);
  add(embedding, content.embedding ? 1 : 0, matrices);
  if (content.loss) {
    add(matrices_of(head_parameters(context.model, weights), context), 1, matrices);
    add(embedding, context.model.tied_embeddings && !content.embedding ? 1 : 0, matrices);
  }
  if (content.mtp_layers > 0) {
    add(matrices_of(mtp_extra_parameters(context.model, weights), context), content.mtp_layers,
        matrices);
  }
}

}  // namespace

const BuiltLayer& StageBuilder::layer(const ExpansionContext& context, LayerKind kind) {
  const auto known = std::find_if(layers_.begin(), layers_.end(),
                                  [&](const BuiltLayer& entry) { return entry.kind == kind; });
  if (known != layers_.end()) {
    return *known;
  }
  const TrainedWeights& weights = context.training.weights;
  const ParameterList parameters = layer_parameters(context.model, kind, weights);
  BuiltLayer built;
  built.kind = kind;
  built.parameters = local_parameters(parameters, context.plan);
  built.matrices = matrices_of(parameters, context);
  for (const ParameterTensor& tensor : parameters) {
    if (tensor.frozen) {
      continue;
    }
    built.distinct_elements += local_elements(tensor, context.plan) /
                               std::max(1.0, real(tensor.instances / context.plan.ep));
  }
  const LayerBlocks::Layer& blocks = blocks_->layer(context, kind);
  built.ops = blocks.ops;
  built.workspace = blocks.workspace;
  layers_.push_back(std::move(built));
  return layers_.back();
}

const StageBuilder::Ends& StageBuilder::ends(const ExpansionContext& context) {
  if (!ends_) {
    const TrainedWeights& weights = context.training.weights;
    const auto local = [&](const ParameterList& parameters) {
      return local_parameters(parameters, context.plan);
    };
    ends_ = {local(embedding_parameters(context.model, weights)),
             local(head_parameters(context.model, weights)),
             local(mtp_extra_parameters(context.model, weights))};
  }
  return *ends_;
}

StageParameters StageBuilder::parameters(const ExpansionContext& context, const BuiltStage& stage) {
  const StageContent& content = stage.content;
  StageParameters parameters;
  for (const BuiltLayer& layer : stage.layers) {
    parameters.layers += real(layer.count) * layer.parameters;
  }
  if (content.mtp_layers > 0) {
    parameters.layers += real(content.mtp_layers) * stage.mtp_projection;
  }
  if (content.embedding) {
    parameters.ends += stage.embedding;
  }
  if (content.loss) {
    parameters.ends += ends(context).head;
    const bool copy_of_tied = context.model.tied_embeddings && !content.embedding;
    if (copy_of_tied) {
      parameters.ends += stage.embedding;
    }
  }
  return parameters;
}

BuiltStage StageBuilder::stage(const ExpansionContext& context, std::size_t index) {
  const TrainedWeights& weights = context.training.weights;
  BuiltStage stage;
  stage.content = context.plan.stages[index];
  stage.embedding = ends(context).embedding;
  stage.mtp_projection = ends(context).mtp_projection;
  const std::vector<KindCount> kinds = stage_kinds(context.model, weights, context.plan, index);
  const std::vector<std::int64_t> recomputed = recomputed_layers(context, index);
  stage.layers.reserve(kinds.size());
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    stage.layers.push_back(layer(context, kinds[i].kind));
    stage.layers.back().count = kinds[i].layers;
    stage.layers.back().recomputed = recomputed[i];
    add(stage.layers.back().matrices, kinds[i].layers, stage.matrices);
  }
  stage.parameters = parameters(context, stage);
  if (updates_matrices(context.training.optimizer)) {
    add_ends(context, stage.content, stage.matrices);
  }
  return stage;
}

}  // namespace stepcast
