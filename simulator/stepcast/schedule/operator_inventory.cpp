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
    const auto known = std::find_if(counted_.begin(), counted_.end(), [&](const CountedOp& entry) {
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

// Counts a stage's units for all micro-batches.
class StageCounter {
 public:
  StageCounter(const StepWork& work, std::int64_t micro_batches, OpCounter& counter)
      : work_(work), micro_batches_(micro_batches), counter_(counter) {}

  void count(const UnitRun& run) {
    const WorkUnit& unit = work_.units[run.unit];
    const std::int64_t times = run.count * micro_batches_;
    counter_.add(unit.ops->forward, StepPass::kForward, times);
    counter_.add(unit.ops->backward, StepPass::kBackward, times);
    counter_.add(unit.ops->recompute, StepPass::kRecompute, times);
    if (run.again) {
      counter_.add(unit.ops->full_recompute, StepPass::kRecompute, times);
    }
    counter_.add(unit.traffic.accumulate, StepPass::kBackward, times);
    traffic(unit, run.count);
  }

 private:
  void traffic(const WorkUnit& unit, std::int64_t units) {
    const UnitTraffic& t = unit.traffic;
    const TrafficRule& rule = work_.rule;
    for (const OpList* list : {&t.copy_in, &t.gather, &t.copy_out}) {
      add(*list, rule.forward_gather, StepPass::kForward, units);
      if (!unit.held) {
        add(*list, rule.backward_gather, StepPass::kBackward, units * rule.backward_gathers);
      }
    }
    add(t.before_reduce, rule.reduce, StepPass::kBackward, units);
    add(t.reduce, rule.reduce, StepPass::kBackward, units);
    add(t.replicas, Frequency::kOnceAStep, StepPass::kBackward, units);
  }
  void add(const OpList& ops, Frequency frequency, StepPass pass, std::int64_t units) {
    if (frequency == Frequency::kEveryMicroBatch) {
      counter_.add(ops, pass, units * micro_batches_);
    } else if (frequency == Frequency::kOnceAStep) {
      counter_.add(ops, StepPass::kOnce, units);
    }
  }

  const StepWork& work_;
  std::int64_t micro_batches_;
  OpCounter& counter_;
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

std::vector<CountedOp> operator_inventory(const ExpansionContext& context, std::int64_t rank) {
  const ParallelPlan& plan = context.plan;
  const StepWork work = step_work(context);
  const Op send{OpId::kPipelineSend, pipeline_send(context), Block::kPipeline};
  OpCounter counter;
  const PipelineShape shape = pipeline_shape(plan);
  for (const HeldStage& held : stages_held(plan, rank)) {
    for (const UnitRun& run : work.stages[held.stage]) {
      StageCounter(work, held.micro_batches, counter).count(run);
    }
    const auto stage = static_cast<std::int64_t>(held.stage);
    if (crosses_ranks(plan.schedule, shape, stage)) {
      counter.add(send, StepPass::kForward, held.micro_batches);
    }
    if (crosses_ranks(plan.schedule, shape, stage - 1)) {
      counter.add(send, StepPass::kBackward, held.micro_batches);
    }
  }
  counter.add(work.optimizer[static_cast<std::size_t>(rank)], StepPass::kOptimizer, 1);
  return counter.take();
}

}  // namespace stepcast
