// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/built_stage.hpp"

#include <algorithm>

#include "stepcast/base/real.hpp"
#include "stepcast/layer/activation_inventory.hpp"
#include "stepcast/layer/recompute_choice.hpp"

namespace stepcast {
namespace {

// Then what a stage holds follows from how many layers it has.
bool one_kind_of_layer(const ModelSpec& model) {
  const LayerKind first = layer_kind(model, 0);
  for (std::int64_t i = 1; i < model.layers; ++i) {
    if (layer_kind(model, i) != first) {
      return false;
    }
  }
  return true;
}

using Expand = BlockOps (*)(const ExpansionContext& context);

const std::shared_ptr<const BlockOps>& once(std::shared_ptr<const BlockOps>& blocks, Expand expand,
                                            const ExpansionContext& context) {
  if (!blocks) {
    blocks = std::make_shared<const BlockOps>(expand(context));
  }
  return blocks;
}

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

LayerDivision layer_division(const ExpansionContext& context) {
  LayerDivision division{context.plan, context.training};
  ParallelPlan& plan = division.plan;
  // Whether a product may add to the gradient of the micro-batch before (BlockBuilder).
  const bool frees_gradients = plan.zero == 3 && plan.fsdp_reshard;
  const ParallelPlan defaults;
  plan.pp = plan.vpp = plan.dp = plan.edp = plan.fsdp = plan.micro_batches = 1;
  plan.schedule = defaults.schedule;
  plan.zero = frees_gradients ? 3 : 0;
  plan.fsdp_reshard = frees_gradients;
  plan.fsdp_experts = defaults.fsdp_experts;
  plan.stages.clear();
  if (plan.strides) {
    RankStrides& apart = *plan.strides;
    apart.dp = apart.edp = apart.pp = apart.expert_pp = 1;
  }
  division.training.global_batch_size = 0;
  return division;
}

const LayerBlocks::Layer& LayerBlocks::layer(const ExpansionContext& context, LayerKind kind) {
  const auto known = std::ranges::find(layers_, kind, &Layer::kind);
  if (known != layers_.end()) {
    return *known;
  }
  auto ops = std::make_shared<const BlockOps>(expand_layer(context, kind));
  const Bytes workspace =
      max(backward_workspace(context, kind), attention_workspace(context, kind, *ops));
  layers_.push_back({kind, std::move(ops), workspace});
  return layers_.back();
}

std::shared_ptr<const BlockOps> LayerBlocks::embedding(const ExpansionContext& context) {
  return once(embedding_, expand_embedding, context);
}

std::shared_ptr<const BlockOps> LayerBlocks::mtp_projection(const ExpansionContext& context) {
  return once(mtp_projection_, expand_mtp_projection, context);
}

std::shared_ptr<const BlockOps> LayerBlocks::loss(const ExpansionContext& context) {
  return once(loss_, expand_loss, context);
}

const BuiltLayer& StageBuilder::layer(const ExpansionContext& context, LayerKind kind) {
  const auto known = std::ranges::find(layers_, kind, &BuiltLayer::kind);
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

StageClasses stage_classes(const ExpansionContext& context) {
  StageClasses result;
  const std::vector<StageContent>& stages = context.plan.stages;
  result.of_stage.reserve(stages.size());
  StageClass own;
  std::int64_t first = 0;
  const TrainedWeights& weights = context.training.weights;
  const bool alike = one_kind_of_layer(context.model) && weights.whole_model() &&
                     context.training.recompute.layer_list.empty();
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (alike && i > 0 && stages[i] == stages[i - 1]) {
      result.of_stage.push_back(result.of_stage.back());
      continue;
    }
    own.content = stages[i];
    count_kinds(context.model, weights, first, own.content, own.kinds);
    count_recomputed_layers(context, first, own.content, own.kinds, own.recomputed);
    first += own.content.layers;
    const auto known = std::find(result.classes.begin(), result.classes.end(), own);
    result.of_stage.push_back(static_cast<std::size_t>(known - result.classes.begin()));
    if (known == result.classes.end()) {
      result.classes.push_back(own);
      result.first.push_back(i);
    }
  }
  return result;
}

}  // namespace stepcast
