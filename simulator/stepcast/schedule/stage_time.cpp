// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/stage_time.hpp"

#include <algorithm>

#include "stepcast/layer/dispatcher_model.hpp"

namespace stepcast {
namespace {

void add(const TaskList& tasks, double times, FabricTimes& sums) {
  for (const StreamTask& task : tasks) {
    if (task.axis) {
      sums[static_cast<std::size_t>(task.fabric)] += times * (task.duration + task.hidden);
    }
  }
}

}  // namespace

PassTime forward_of(const StageProgram& program, const PassPlace& place, const StepContext& context,
                    std::vector<StreamSpan>* record) {
  const ParallelPlan& plan = context.expansion.plan;
  return plan.uniform
             ? uniform_forward(program, place, plan.overlap, occupied_shares(context), record)
             : forward_pass(program, place, record);
}

PassTime backward_of(const StageProgram& program, const PassPlace& place,
                     const StepContext& context, std::vector<StreamSpan>* record) {
  const ParallelPlan& plan = context.expansion.plan;
  return plan.uniform
             ? uniform_backward(program, place, plan.overlap, occupied_shares(context), record)
             : backward_pass(program, place, record);
}

StageTime stage_time(const StageProgram& program, const StepContext& context,
                     MicroBatches micro_batches) {
  const bool one = micro_batches == MicroBatches::kOne;
  StageTime time;
  time.gather = context.expansion.plan.uniform ? GatherTime{} : first_gather(program);
  time.first_forward = forward_of(program, {.first = true, .host_lead = {}}, context);
  PassPlace last{.last = true};
  if (one) {
    last.host_lead = time.first_forward.host_lead;
  } else {
    time.forward = forward_of(program, {}, context);
    time.backward = backward_of(program, {}, context);
  }
  time.last_backward = backward_of(program, last, context);
  if (one) {
    time.forward = time.first_forward;
    time.backward = time.last_backward;
  }
  return time;
}

Seconds data_traffic(const StageTime& stage, std::int64_t micro_batches) {
  const auto of = [](const PassTime& pass) {
    return pass.spent.exposed[slot(Axis::kData)] + pass.hidden.exposed[slot(Axis::kData)];
  };
  return stage.gather.first + of(stage.first_forward) + of(stage.last_backward) +
         static_cast<double>(micro_batches - 1) * (of(stage.forward) + of(stage.backward));
}

StageDuration duration_of(const StageTime& stage) {
  StageDuration duration{stage.forward.duration(), stage.backward.duration(),
                         stage.backward.weight};
  duration.ready = stage.gather.first;
  duration.first_extra = stage.first_forward.duration() - stage.forward.duration();
  duration.last_extra = stage.last_backward.duration() - stage.backward.duration();
  return duration;
}

OccupiedShares occupied_shares(const StepContext& context) {
  const DeviceSpec& device = context.cluster.device;
  const auto all = static_cast<double>(device.compute_units);
  const std::int64_t library = device.scale_up.kernel_units;
  OccupiedShares occupied{};
  occupied.fill(static_cast<double>(library) / all);
  const std::int64_t units = units_held(context.expansion.plan, library);
  occupied[slot(Axis::kExpert)] = std::min(1.0, static_cast<double>(units) / all);
  return occupied;
}

FabricTimes fabric_times(const StageProgram& program) {
  const auto every = [](Frequency frequency) {
    return frequency == Frequency::kEveryMicroBatch ? 1.0 : 0.0;
  };
  const TrafficRule& rule = program.rule;
  const double gathers = every(rule.forward_gather) +
                         static_cast<double>(rule.backward_gathers) * every(rule.backward_gather);
  FabricTimes sums{};
  for (const LayerRun& run : program.runs) {
    const LayerTasks& layer = program.tasks.layers[run.layer];
    const auto times = static_cast<double>(run.count);
    add(layer.forward, times, sums);
    add(layer.backward, times, sums);
    add(layer.gather, times * gathers, sums);
    add(layer.reduce, times * every(rule.reduce), sums);
    if (run.recomputed) {
      add(layer.full_recompute, times, sums);
    }
  }
  return sums;
}

}  // namespace stepcast
