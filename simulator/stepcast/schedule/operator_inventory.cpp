// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/operator_inventory.hpp"

#include <algorithm>

#include "stepcast/parallel/memory_footprint.hpp"
#include "stepcast/parallel/pipeline_stages.hpp"
#include "stepcast/parallel/sharding.hpp"
#include "stepcast/schedule/data_parallel.hpp"

namespace stepcast {
namespace {

// Expands each block once and notes which stages run it.
class ListCollector {
 public:
  explicit ListCollector(const ExpansionContext& context) : context_(context) {}

  StepLists collect() {
    for (std::size_t i = 0; i < context_.plan.stages.size(); ++i) {
      result_.stages.emplace_back();
      stage(i);
    }
    return std::move(result_);
  }

 private:
  // Where the lists of a block are.
  struct Block {
    std::size_t forward;
    std::size_t backward;
    std::size_t recompute;
  };
  struct KnownKind {
    LayerKind kind;
    Block block;
  };

  std::size_t keep(OpList list) {
    result_.lists.push_back(std::move(list));
    return result_.lists.size() - 1;
  }
  Block keep(BlockOps ops) {
    const std::size_t forward = keep(std::move(ops.forward));
    const std::size_t backward = keep(std::move(ops.backward));
    return {forward, backward, keep(std::move(ops.recompute))};
  }

  void use(std::size_t list, StepPass pass, std::int64_t count) {
    if (count > 0 && !result_.lists[list].empty()) {
      result_.stages.back().push_back({list, pass, count});
    }
  }
  void use(const Block& block, std::int64_t count) {
    use(block.forward, StepPass::kForward, count);
    use(block.backward, StepPass::kBackward, count);
    use(block.recompute, StepPass::kRecompute, count);
  }

  void stage(std::size_t index) {
    const StageContent& content = context_.plan.stages[index];
    if (content.embedding) {
      use(keep(expand_embedding(context_)), 1);
    }
    layers(index);
    if (content.mtp_layers > 0) {
      use(keep(expand_mtp_projection(context_)), content.mtp_layers);
    }
    if (content.loss) {
      use(keep(expand_loss(context_)), 1 + content.mtp_layers);
    }
    MicroBatchCollectives sharding = micro_batch_collectives(context_, index);
    use(keep(std::move(sharding.forward)), StepPass::kForward, 1);
    use(keep(std::move(sharding.backward)), StepPass::kBackward, 1);
  }

  void layers(std::size_t index) {
    const std::vector<KindCount> kinds = stage_kinds(context_.model, context_.plan, index);
    std::int64_t all = 0;
    for (const KindCount& entry : kinds) {
      all += entry.layers;
    }
    std::int64_t again = fully_recomputed_layers(context_.training.recompute, all);
    for (const KindCount& entry : kinds) {
      const Block block = layer(entry.kind);
      use(block, entry.layers);
      const std::int64_t repeated = std::min(again, entry.layers);
      again -= repeated;
      use(block.forward, StepPass::kRecompute, repeated);
    }
  }

  Block layer(LayerKind kind) {
    const auto known = std::find_if(known_.begin(), known_.end(),
                                    [&](const KnownKind& entry) { return entry.kind == kind; });
    if (known != known_.end()) {
      return known->block;
    }
    known_.push_back({kind, keep(expand_layer(context_, kind))});
    return known_.back().block;
  }

  const ExpansionContext& context_;
  StepLists result_;
  std::vector<KnownKind> known_;
};

// Counts operators, equal ones together.
class OpCounter {
 public:
  void add(const Op& op, StepPass pass, std::int64_t count) {
    const auto known = std::find_if(counted_.begin(), counted_.end(), [&](const CountedOp& entry) {
      return entry.pass == pass && entry.op == op;
    });
    if (known == counted_.end()) {
      counted_.push_back({op, pass, count});
    } else {
      known->count += count;
    }
  }
  void add(const OpList& ops, StepPass pass, std::int64_t count) {
    for (const Op& op : ops) {
      add(op, pass, count);
    }
  }

  std::vector<CountedOp> take() { return std::move(counted_); }

 private:
  std::vector<CountedOp> counted_;
};

}  // namespace

std::string_view name(StepPass pass) {
  switch (pass) {
    case StepPass::kForward:
      return "forward";
    case StepPass::kBackward:
      return "backward";
    case StepPass::kRecompute:
      return "recompute";
    case StepPass::kOptimizer:
      return "optimizer";
    case StepPass::kOnce:
      return "once";
  }
  return "";
}

StepLists step_lists(const ExpansionContext& context) { return ListCollector(context).collect(); }

Collective pipeline_send(const ExpansionContext& context) {
  const Bytes bytes =
      static_cast<double>(context.sequence_tokens() * context.model.hidden) * Bytes(2);
  return {CollectiveOp::kSendRecv, bytes, context.plan.pp_group(), Axis::kPipeline};
}

std::vector<CountedOp> operator_inventory(const ExpansionContext& context, std::int64_t rank) {
  const ParallelPlan& plan = context.plan;
  const StepLists work = step_lists(context);
  const Op send{"pipeline.send", pipeline_send(context)};
  OpCounter counter;
  const PipelineShape shape = pipeline_shape(plan);
  for (const HeldStage& held : stages_held(plan, rank)) {
    for (const ListUse& use : work.stages[held.stage]) {
      counter.add(work.lists[use.list], use.pass, use.count * held.micro_batches);
    }
    const auto stage = static_cast<std::int64_t>(held.stage);
    if (crosses_ranks(plan.schedule, shape, stage)) {
      counter.add(send, StepPass::kForward, held.micro_batches);
    }
    if (crosses_ranks(plan.schedule, shape, stage - 1)) {
      counter.add(send, StepPass::kBackward, held.micro_batches);
    }
  }
  counter.add(step_collectives(context, rank), StepPass::kOnce, 1);
  counter.add(optimizer_ops(context, rank), StepPass::kOptimizer, 1);
  return counter.take();
}

}  // namespace stepcast
