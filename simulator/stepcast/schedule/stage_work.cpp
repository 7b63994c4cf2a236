// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/stage_work.hpp"

#include <algorithm>
#include <utility>

#include "stepcast/pipeline/pipeline_stages.hpp"

namespace stepcast {
namespace {

void run(std::vector<UnitRun>& runs, std::size_t unit, std::int64_t count, bool again = false) {
  if (count > 0) {
    runs.push_back({unit, count, again});
  }
}

}  // namespace

std::size_t UnitCollector::unit(const ExpansionContext& context, const Identity& identity,
                                const std::shared_ptr<const BlockOps>& layer) {
  const auto known = std::find(identities_.begin(), identities_.end(), identity);
  if (known != identities_.end()) {
    return static_cast<std::size_t>(known - identities_.begin());
  }
  WorkUnit unit;
  unit.ops = layer ? layer : std::make_shared<const BlockOps>(blocks_of(context, identity.part));
  unit.traffic = unit_traffic(context, identity.parameters);
  unit.held = identity.part == Part::kRoot ||
              (identity.part == Part::kLoss && identity.parameters.total() > 0.0);
  units_.push_back(std::move(unit));
  identities_.push_back(identity);
  return units_.size() - 1;
}

BlockOps UnitCollector::blocks_of(const ExpansionContext& context, Part part) {
  switch (part) {
    case Part::kEmbedding:
      return expand_embedding(context);
    case Part::kLoss:
      return expand_loss(context);
    case Part::kMtpProjection:
      return expand_mtp_projection(context);
    case Part::kRoot:
    case Part::kLayer:
      break;
  }
  return {};
}

std::vector<UnitRun> UnitCollector::stage(const ExpansionContext& context,
                                          const BuiltStage& stage) {
  const StageContent& content = stage.content;
  std::vector<UnitRun> runs;
  LocalParameters embedding;
  LocalParameters head = stage.parameters.ends;
  const bool together = context.plan.zero == 3 && context.software.fsdp_root_holds_ends;
  if (together) {
    // The root of an FSDP model holds what no layer does: gathered first, reduced last.
    if (head.total() > 0.0) {
      run(runs, unit(context, {Part::kRoot, {}, head}), 1);
    }
    head = {};
  } else if (content.embedding) {
    embedding = stage.embedding;
    head += -1.0 * embedding;
  }
  if (content.embedding) {
    run(runs, unit(context, {Part::kEmbedding, {}, embedding}), 1);
  }
  add_layers(context, stage, runs);
  if (content.mtp_layers > 0) {
    run(runs, unit(context, {Part::kMtpProjection, {}, stage.mtp_projection}), content.mtp_layers);
  }
  if (content.loss) {
    add_loss(context, head, 1 + content.mtp_layers, runs);
  }
  return runs;
}

void UnitCollector::add_layers(const ExpansionContext& context, const BuiltStage& stage,
                               std::vector<UnitRun>& runs) {
  for (const BuiltLayer& layer : stage.layers) {
    const std::size_t own = unit(context, {Part::kLayer, layer.kind, layer.parameters}, layer.ops);
    run(runs, own, layer.recomputed, true);
    run(runs, own, layer.count - layer.recomputed);
  }
}

// Modules of multi-token prediction run the head again and have no parameters of it.
void UnitCollector::add_loss(const ExpansionContext& context, const LocalParameters& head,
                             std::int64_t times, std::vector<UnitRun>& runs) {
  run(runs, unit(context, {Part::kLoss, {}, head}), 1);
  if (times > 1) {
    run(runs, unit(context, {Part::kLoss, {}, {}}), times - 1);
  }
}

std::vector<UnitTurn> unit_turns(const std::vector<UnitRun>& runs) {
  std::vector<UnitTurn> turns;
  for (const UnitRun& run : runs) {
    turns.insert(turns.end(), static_cast<std::size_t>(run.count), {run.unit, run.again});
  }
  return turns;
}

StepWork step_work(const ExpansionContext& context) {
  StepWork work;
  work.rule = traffic_rule(context.plan, context.training, context.software);
  StageBuilder builder;
  UnitCollector collector;
  std::vector<LocalParameters> parameters;
  for (std::size_t i = 0; i < context.plan.stages.size(); ++i) {
    const BuiltStage stage = builder.stage(context, i);
    work.stages.push_back(collector.stage(context, stage));
    parameters.push_back(stage.parameters.all());
  }
  work.units = collector.take_units();
  for (std::int64_t rank = 0; rank < context.plan.pp; ++rank) {
    LocalParameters sum;
    for (const HeldStage& held : stages_held(context.plan, rank)) {
      sum += parameters[held.stage];
    }
    work.optimizer.push_back(optimizer_ops(context, sum));
  }
  return work;
}

Collective pipeline_send(const ExpansionContext& context) {
  const Bytes bytes =
      static_cast<double>(context.sequence_tokens() * context.model.hidden) * Bytes(2);
  return {CollectiveOp::kSendRecv, bytes, context.plan.pp_group(), Axis::kPipeline};
}

}  // namespace stepcast
