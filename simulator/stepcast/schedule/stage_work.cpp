// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/stage_work.hpp"

#include <algorithm>
#include <utility>

#include "stepcast/parallel/recompute_choice.hpp"
#include "stepcast/parallel/sharding.hpp"

namespace stepcast {
namespace {

BlockOps blocks_of(const ExpansionContext& context, bool embedding, bool loss) {
  return embedding ? expand_embedding(context)
         : loss    ? expand_loss(context)
                   : expand_mtp_projection(context);
}

void run(std::vector<UnitRun>& runs, std::size_t unit, std::int64_t count, bool again = false) {
  if (count > 0) {
    runs.push_back({unit, count, again});
  }
}

}  // namespace

std::size_t UnitCollector::unit(const ExpansionContext& context, const Identity& identity) {
  const auto known = std::find(identities_.begin(), identities_.end(), identity);
  if (known != identities_.end()) {
    return static_cast<std::size_t>(known - identities_.begin());
  }
  BlockOps ops;
  if (identity.part == Part::kLayer) {
    ops = expand_layer(context, identity.kind);
  } else if (identity.part != Part::kRoot) {
    ops = blocks_of(context, identity.part == Part::kEmbedding, identity.part == Part::kLoss);
  }
  WorkUnit unit;
  unit.forward = std::move(ops.forward);
  unit.backward = std::move(ops.backward);
  unit.recompute = std::move(ops.recompute);
  unit.again = std::move(ops.full_recompute);
  unit.traffic = unit_traffic(context, identity.parameters);
  unit.held = identity.part == Part::kRoot ||
              (identity.part == Part::kLoss && identity.parameters.total() > 0.0);
  units_.push_back(std::move(unit));
  identities_.push_back(identity);
  return units_.size() - 1;
}

std::vector<UnitRun> UnitCollector::stage(const ExpansionContext& context, std::size_t index) {
  const StageContent& content = context.plan.stages[index];
  std::vector<UnitRun> runs;
  LocalParameters embedding;
  LocalParameters head = stage_parameters(context.model, context.plan, index).ends;
  const bool together = context.plan.zero == 3 && context.software.fsdp_root_holds_ends;
  if (together) {
    // The root of an FSDP model holds what no layer does: gathered first, reduced last.
    if (head.total() > 0.0) {
      run(runs, unit(context, {Part::kRoot, {}, head}), 1);
    }
    head = {};
  } else if (content.embedding) {
    embedding = local_parameters(embedding_parameters(context.model), context.plan);
    head += -1.0 * embedding;
  }
  if (content.embedding) {
    run(runs, unit(context, {Part::kEmbedding, {}, embedding}), 1);
  }
  add_layers(context, index, runs);
  if (content.mtp_layers > 0) {
    const LocalParameters own = local_parameters(mtp_extra_parameters(context.model), context.plan);
    run(runs, unit(context, {Part::kMtpProjection, {}, own}), content.mtp_layers);
  }
  if (content.loss) {
    add_loss(context, head, 1 + content.mtp_layers, runs);
  }
  return runs;
}

void UnitCollector::add_layers(const ExpansionContext& context, std::size_t index,
                               std::vector<UnitRun>& runs) {
  const std::vector<KindCount> kinds = stage_kinds(context.model, context.plan, index);
  const std::vector<std::int64_t> again = recomputed_layers(context, index);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const LocalParameters own =
        local_parameters(layer_parameters(context.model, kinds[i].kind), context.plan);
    const std::size_t layer = unit(context, {Part::kLayer, kinds[i].kind, own});
    run(runs, layer, again[i], true);
    run(runs, layer, kinds[i].layers - again[i]);
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
  UnitCollector collector;
  for (std::size_t i = 0; i < context.plan.stages.size(); ++i) {
    work.stages.push_back(collector.stage(context, i));
  }
  work.units = collector.take_units();
  for (std::int64_t rank = 0; rank < context.plan.pp; ++rank) {
    work.optimizer.push_back(optimizer_ops(context, rank_parameters(context, rank)));
  }
  return work;
}

Collective pipeline_send(const ExpansionContext& context) {
  const Bytes bytes =
      static_cast<double>(context.sequence_tokens() * context.model.hidden) * Bytes(2);
  return {CollectiveOp::kSendRecv, bytes, context.plan.pp_group(), Axis::kPipeline};
}

}  // namespace stepcast
