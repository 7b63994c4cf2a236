// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/operator_inventory.hpp"

#include <algorithm>

#include "stepcast/pipeline/pipeline_stages.hpp"

namespace stepcast {
namespace {

// Counts operators, those that print alike together.
class OpCounter {
 public:
  void add(const Op& op, StepPass pass, std::int64_t count) {
    const auto known = std::ranges::find_if(counted_, [&](const CountedOp& entry) {
      return entry.pass == pass && prints_alike(entry.op, op);
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

// Counts a stage's layers for all micro-batches.
class StageCounter {
 public:
  StageCounter(const StepOperators& operators, std::int64_t micro_batches, OpCounter& counter)
      : operators_(operators), micro_batches_(micro_batches), counter_(counter) {}

  void count(const LayerRun& run) {
    const StageLayer& layer = operators_.layers[run.layer];
    const std::int64_t times = run.count * micro_batches_;
    counter_.add(layer.ops->forward, StepPass::kForward, times);
    counter_.add(layer.ops->backward, StepPass::kBackward, times);
    counter_.add(layer.ops->recompute, StepPass::kRecompute, times);
    if (run.recomputed) {
      counter_.add(layer.ops->full_recompute, StepPass::kRecompute, times);
    }
    counter_.add(layer.traffic.accumulate, StepPass::kBackward, times);
    traffic(layer, run.count);
  }

 private:
  void traffic(const StageLayer& layer, std::int64_t layers) {
    const LayerTraffic& t = layer.traffic;
    const TrafficRule& rule = operators_.rule;
    for (const OpList* list : {&t.copy_in, &t.gather, &t.copy_out}) {
      add(*list, rule.forward_gather, StepPass::kForward, layers);
      if (!layer.stays_gathered) {
        add(*list, rule.backward_gather, StepPass::kBackward, layers * rule.backward_gathers);
      }
    }
    add(t.before_reduce, rule.reduce, StepPass::kBackward, layers);
    add(t.reduce, rule.reduce, StepPass::kBackward, layers);
    add(t.after_reduce, rule.reduce, StepPass::kBackward, layers);
    add(t.replicas, Frequency::kOnceAStep, StepPass::kBackward, layers);
  }
  void add(const OpList& ops, Frequency frequency, StepPass pass, std::int64_t layers) {
    if (frequency == Frequency::kEveryMicroBatch) {
      counter_.add(ops, pass, layers * micro_batches_);
    } else if (frequency == Frequency::kOnceAStep) {
      counter_.add(ops, StepPass::kOnce, layers);
    }
  }

  const StepOperators& operators_;
  std::int64_t micro_batches_;
  OpCounter& counter_;
};

// What a boundary between stages on two ranks costs in each direction.
OpList pipeline_operators(const ExpansionContext& context) {
  OpList operators{{OpId::kPipelineSend, pipeline_send(context), Block::kPipeline}};
  if (const std::optional<Collective> gather = pipeline_gather(context)) {
    operators.push_back({OpId::kPipelineGather, *gather, Block::kPipeline});
  }
  return operators;
}

}  // namespace

std::vector<CountedOp> operator_inventory(const ExpansionContext& context, std::int64_t rank) {
  const ParallelPlan& plan = context.plan;
  const StepOperators operators = step_operators(context);
  const OpList crossing = pipeline_operators(context);
  OpCounter counter;
  const PipelineShape shape = pipeline_shape(plan);
  for (const RankStage& stage : stages_of_rank(plan, rank)) {
    for (const LayerRun& run : operators.stages[stage.stage]) {
      StageCounter(operators, stage.micro_batches, counter).count(run);
    }
    const auto index = static_cast<std::int64_t>(stage.stage);
    if (crosses_ranks(plan.schedule, shape, index)) {
      counter.add(crossing, StepPass::kForward, stage.micro_batches);
    }
    if (crosses_ranks(plan.schedule, shape, index - 1)) {
      counter.add(crossing, StepPass::kBackward, stage.micro_batches);
    }
  }
  for (const RepeatedOps& part : operators.optimizer[static_cast<std::size_t>(rank)]) {
    counter.add(part.ops, StepPass::kOptimizer, part.times);
  }
  return counter.take();
}

}  // namespace stepcast
