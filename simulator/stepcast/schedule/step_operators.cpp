// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/step_operators.hpp"

#include <algorithm>

#include "stepcast/pipeline/pipeline_stages.hpp"

namespace stepcast {
namespace {

void run(std::vector<LayerRun>& runs, std::size_t layer, std::int64_t count,
         bool recomputed = false) {
  if (count > 0) {
    runs.push_back({layer, count, recomputed});
  }
}

// Of one micro-batch, on one rank.
Bytes stage_output(const ExpansionContext& context) {
  return static_cast<double>(context.sequence_tokens() * residual_width(context.model)) * Bytes(2);
}

// Under sequence parallelism every rank holds a part alone.
bool sends_parts(const ExpansionContext& context) {
  const ParallelPlan& plan = context.plan;
  return context.software.scatters_pipeline_sends && plan.tp > 1 && !plan.sequence_parallel;
}

}  // namespace

std::size_t LayerCollector::place_of(const ExpansionContext& context, const Identity& identity,
                                     const std::shared_ptr<const BlockOps>& ops) {
  const auto known = std::find(identities_.begin(), identities_.end(), identity);
  if (known != identities_.end()) {
    return static_cast<std::size_t>(known - identities_.begin());
  }
  StageLayer layer;
  layer.ops = ops ? ops : blocks_of(context, identity.part);
  layer.traffic =
      layer_traffic(context, identity.parameters,
                    identity.part == Part::kLayer ? std::optional(identity.kind) : std::nullopt);
  layer.stays_gathered = identity.part == Part::kRoot ||
                         (identity.part == Part::kLoss && identity.parameters.total() > 0.0);
  layers_.push_back(std::move(layer));
  identities_.push_back(identity);
  return layers_.size() - 1;
}

std::shared_ptr<const BlockOps> LayerCollector::blocks_of(const ExpansionContext& context,
                                                          Part part) {
  switch (part) {
    case Part::kEmbedding:
      return blocks_->embedding(context);
    case Part::kLoss:
      return blocks_->loss(context);
    case Part::kMtpProjection:
      return blocks_->mtp_projection(context);
    case Part::kRoot:
    case Part::kLayer:
      break;
  }
  return blocks_->nothing();
}

std::vector<LayerRun> LayerCollector::stage(const ExpansionContext& context,
                                            const BuiltStage& stage) {
  const StageContent& content = stage.content;
  std::vector<LayerRun> runs;
  LocalParameters embedding;
  LocalParameters head = stage.parameters.ends;
  const bool together = context.plan.zero == 3 && context.software.fsdp_root_holds_ends;
  if (together) {
    // The root of an FSDP model holds what no layer does: gathered first, reduced last.
    if (head.total() > 0.0) {
      run(runs, place_of(context, {Part::kRoot, {}, head}), 1);
    }
    head = {};
  } else if (content.embedding) {
    embedding = stage.embedding;
    head += -1.0 * embedding;
  }
  if (content.embedding) {
    run(runs, place_of(context, {Part::kEmbedding, {}, embedding}), 1);
  }
  add_layers(context, stage, runs);
  if (content.mtp_layers > 0) {
    run(runs, place_of(context, {Part::kMtpProjection, {}, stage.mtp_projection}),
        content.mtp_layers);
  }
  if (content.loss) {
    add_loss(context, head, 1 + content.mtp_layers, runs);
  }
  return runs;
}

void LayerCollector::add_layers(const ExpansionContext& context, const BuiltStage& stage,
                                std::vector<LayerRun>& runs) {
  for (const BuiltLayer& layer : stage.layers) {
    const std::size_t own =
        place_of(context, {Part::kLayer, layer.kind, layer.parameters}, layer.ops);
    run(runs, own, layer.recomputed, true);
    run(runs, own, layer.count - layer.recomputed);
  }
}

// Modules of multi-token prediction run the head once more and have no parameters of it.
void LayerCollector::add_loss(const ExpansionContext& context, const LocalParameters& head,
                              std::int64_t times, std::vector<LayerRun>& runs) {
  run(runs, place_of(context, {Part::kLoss, {}, head}), 1);
  if (times > 1) {
    run(runs, place_of(context, {Part::kLoss, {}, {}}), times - 1);
  }
}

std::vector<LayerInOrder> layers_in_order(const std::vector<LayerRun>& runs) {
  std::vector<LayerInOrder> layers;
  for (const LayerRun& run : runs) {
    layers.insert(layers.end(), static_cast<std::size_t>(run.count), {run.layer, run.recomputed});
  }
  return layers;
}

StepOperators step_operators(const ExpansionContext& context) {
  StepOperators operators;
  operators.rule = traffic_rule(context);
  StageBuilder builder;
  LayerCollector collector;
  std::vector<HeldWeights> weights;
  for (std::size_t i = 0; i < context.plan.stages.size(); ++i) {
    const BuiltStage stage = builder.stage(context, i);
    operators.stages.push_back(collector.stage(context, stage));
    weights.push_back(stage.weights());
  }
  operators.layers = collector.take_layers();
  for (std::int64_t rank = 0; rank < context.plan.pp; ++rank) {
    HeldWeights sum;
    for (const RankStage& own : stages_of_rank(context.plan, rank)) {
      sum += weights[own.stage];
    }
    operators.optimizer.push_back(optimizer_ops(context, sum));
  }
  return operators;
}

Collective pipeline_send(const ExpansionContext& context) {
  const std::int64_t parts = sends_parts(context) ? context.plan.tp : 1;
  return {CollectiveOp::kSendRecv, stage_output(context) / static_cast<double>(parts),
          context.plan.pp_group(), Axis::kPipeline};
}

std::optional<Collective> pipeline_gather(const ExpansionContext& context) {
  if (!sends_parts(context)) {
    return std::nullopt;
  }
  return Collective{CollectiveOp::kAllGather, stage_output(context), context.plan.tp_group(),
                    Axis::kPipeline};
}

}  // namespace stepcast
