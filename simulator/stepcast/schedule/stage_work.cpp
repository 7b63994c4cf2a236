// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/stage_work.hpp"

#include <algorithm>
#include <utility>

#include "stepcast/parallel/recompute_choice.hpp"
#include "stepcast/parallel/sharding.hpp"

namespace stepcast {
namespace {

// Expands each unit once and notes which stages run it.
class WorkCollector {
 public:
  explicit WorkCollector(const ExpansionContext& context) : context_(context) {}

  StepWork collect() {
    result_.rule = traffic_rule(context_.plan, context_.training, context_.software);
    for (std::size_t i = 0; i < context_.plan.stages.size(); ++i) {
      result_.stages.emplace_back();
      stage(i);
    }
    for (std::int64_t rank = 0; rank < context_.plan.pp; ++rank) {
      result_.optimizer.push_back(optimizer_ops(context_, rank));
    }
    return std::move(result_);
  }

 private:
  struct KnownKind {
    LayerKind kind;
    std::size_t unit;
  };

  std::size_t keep(BlockOps ops, const LocalParameters& parameters) {
    WorkUnit unit;
    unit.forward = std::move(ops.forward);
    unit.backward = std::move(ops.backward);
    unit.recompute = std::move(ops.recompute);
    unit.again = std::move(ops.full_recompute);
    unit.traffic = unit_traffic(context_, parameters);
    result_.units.push_back(std::move(unit));
    return result_.units.size() - 1;
  }
  void run(std::size_t unit, std::int64_t count, bool again = false) {
    if (count > 0) {
      result_.stages.back().push_back({unit, count, again});
    }
  }

  void stage(std::size_t index) {
    const StageContent& content = context_.plan.stages[index];
    LocalParameters embedding;
    LocalParameters head = stage_parameters(context_.model, context_.plan, index).ends;
    const bool together = context_.plan.zero == 3 && context_.software.fsdp_root_holds_ends;
    if (together) {
      root(std::exchange(head, {}));
    } else if (content.embedding) {
      embedding = local_parameters(embedding_parameters(context_.model), context_.plan);
      head += -1.0 * embedding;
    }
    if (content.embedding) {
      run(keep(expand_embedding(context_), embedding), 1);
    }
    layers(index);
    if (content.mtp_layers > 0) {
      const LocalParameters own =
          local_parameters(mtp_extra_parameters(context_.model), context_.plan);
      run(keep(expand_mtp_projection(context_), own), content.mtp_layers);
    }
    if (content.loss) {
      loss(head, 1 + content.mtp_layers);
    }
  }

  // The root of an FSDP model holds what no layer does: gathered first, reduced last.
  void root(const LocalParameters& ends) {
    if (ends.total() > 0.0) {
      const std::size_t unit = keep({}, ends);
      result_.units[unit].held = true;
      run(unit, 1);
    }
  }

  // Modules of multi-token prediction run the head again and have no parameters of it.
  void loss(const LocalParameters& head, std::int64_t times) {
    const std::size_t unit = keep(expand_loss(context_), head);
    result_.units[unit].held = true;
    run(unit, 1);
    if (times > 1) {
      run(keep(expand_loss(context_), {}), times - 1);
    }
  }

  void layers(std::size_t index) {
    const std::vector<KindCount> kinds = stage_kinds(context_.model, context_.plan, index);
    const std::vector<std::int64_t> again = recomputed_layers(context_, index);
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const std::size_t unit = layer(kinds[i].kind);
      run(unit, again[i], true);
      run(unit, kinds[i].layers - again[i]);
    }
  }

  std::size_t layer(LayerKind kind) {
    const auto known = std::find_if(known_.begin(), known_.end(),
                                    [&](const KnownKind& entry) { return entry.kind == kind; });
    if (known != known_.end()) {
      return known->unit;
    }
    const LocalParameters own =
        local_parameters(layer_parameters(context_.model, kind), context_.plan);
    known_.push_back({kind, keep(expand_layer(context_, kind), own)});
    return known_.back().unit;
  }

  const ExpansionContext& context_;
  StepWork result_;
  std::vector<KnownKind> known_;
};

}  // namespace

std::vector<UnitTurn> unit_turns(const std::vector<UnitRun>& runs) {
  std::vector<UnitTurn> turns;
  for (const UnitRun& run : runs) {
    turns.insert(turns.end(), static_cast<std::size_t>(run.count), {run.unit, run.again});
  }
  return turns;
}

StepWork step_work(const ExpansionContext& context) { return WorkCollector(context).collect(); }

Collective pipeline_send(const ExpansionContext& context) {
  const Bytes bytes =
      static_cast<double>(context.sequence_tokens() * context.model.hidden) * Bytes(2);
  return {CollectiveOp::kSendRecv, bytes, context.plan.pp_group(), Axis::kPipeline};
}

}  // namespace stepcast
