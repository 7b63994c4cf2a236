// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/stage_time.hpp"

#include <algorithm>

#include "stepcast/layer/dispatcher_model.hpp"

namespace stepcast {
namespace {

class UniformPass {
 public:
  explicit UniformPass(const StageProgram& program) : program_(program) {}

  void add(const TaskList& tasks, double times = 1.0) {
    for (const StreamTask& task : tasks) {
      if (task.axis) {
        totals_.communication[slot(*task.axis)] += times * task.duration;
        time_.hidden.exposed[slot(*task.axis)] += times * task.hidden;
        inside_ += times * task.hidden;
      } else {
        totals_.compute += times * task.duration;
        time_.energy += times * task.energy;
        weight_.weight += task.weight_gradient ? times * task.duration : Seconds{};
        weight_.launching_weight += task.weight_gradient ? times * task.host : Seconds{};
      }
      launching_ += times * task.host;
    }
  }

  void add_if(bool happens, const TaskList& tasks, double times) {
    if (happens) {
      add(tasks, times);
    }
  }

  PassTime finish(const UniformOverlap& overlap, const OccupiedShares& occupied) {
    PassTotals free = totals_;
    free.compute = max(Seconds{}, totals_.compute - inside_);
    time_.spent = exposed(free, overlap, occupied);
    time_.spent.compute = totals_.compute;
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      time_.hidden.exposed[axis] += totals_.communication[axis] - time_.spent.exposed[axis];
    }
    time_.spent.host += max(Seconds{}, launching_ - time_.spent.total());
    if (weight_.weight > Seconds{}) {
      time_.weight = weight_part(time_.spent, weight_, launching_);
    }
    return time_;
  }

  [[nodiscard]] const LayerTasks& layer(const LayerRun& run) const {
    return program_.tasks.layers[run.layer];
  }

 private:
  const StageProgram& program_;
  PassTotals totals_;
  PassTime time_;
  TaskSums weight_;
  Seconds inside_;  // communication that kernels hide inside them: nothing else hides there
  Seconds launching_;
};

// The tasks of a pass in their order, and their spans.
class UniformSpans {
 public:
  UniformSpans(const StageProgram& program, const PassPlace& place)
      : program_(program), place_(place) {}

  void forward(const PassTime& time, std::vector<StreamSpan>& record) {
    for (const LayerInOrder& entry : layers_in_order(program_.runs)) {
      const LayerTasks& layer = program_.tasks.layers[entry.layer];
      gather(layer, place_.gathers(program_.rule.forward_gather));
      add(layer.forward);
    }
    lay(time, record);
  }

  void backward(const PassTime& time, std::vector<StreamSpan>& record) {
    std::vector<LayerInOrder> layers = layers_in_order(program_.runs);
    std::reverse(layers.begin(), layers.end());
    for (const LayerInOrder& entry : layers) {
      const LayerTasks& layer = program_.tasks.layers[entry.layer];
      for (std::int64_t i = 0; i < program_.rule.backward_gathers && !layer.stays_gathered; ++i) {
        gather(layer, program_.rule.backward_gather == Frequency::kEveryMicroBatch);
      }
      add(entry.recomputed ? layer.full_recompute : TaskList{});
      add(layer.backward);
      if (place_.reduces(program_.rule.reduce)) {
        add(layer.before_reduce);
        add(layer.reduce);
      }
      add(place_.last ? layer.replicas : TaskList{});
    }
    lay(time, record);
  }

 private:
  void gather(const LayerTasks& layer, bool happens) {
    if (happens) {
      add(layer.gather);
      add(layer.copy_out);
    }
  }

  void add(const TaskList& tasks) { tasks_.insert(tasks_.end(), tasks.begin(), tasks.end()); }

  void lay(const PassTime& time, std::vector<StreamSpan>& record) const {
    const TaskSums sums = sums_of(tasks_);
    const TimeBreakdown& spent = time.spent;
    const double slower =
        sums.compute > Seconds{} ? (spent.compute + spent.contention) / sums.compute : 1.0;
    Seconds now;
    for (const StreamTask& task : tasks_) {
      if (task.axis && task.mode == TaskMode::kJoin) {
        continue;
      }
      if (!task.axis) {
        const Seconds end = now + slower * task.duration;
        record.push_back({task.axis, now, end, now, task.op, {}, task.host});
        now = end;
        continue;
      }
      const Seconds all = sums.exposed[slot(*task.axis)];
      const double share = all > Seconds{} ? spent.exposed[slot(*task.axis)] / all : 0.0;
      now += share * task.duration;
      const Seconds start = max(Seconds{}, now - task.duration);
      const Seconds end = start + task.duration;
      record.push_back({task.axis, start, end, start, task.op, task.hidden, task.host});
    }
  }

  const StageProgram& program_;
  PassPlace place_;
  TaskList tasks_;
};

void add(const TaskList& tasks, double times, FabricTimes& sums) {
  for (const StreamTask& task : tasks) {
    if (task.axis) {
      sums[static_cast<std::size_t>(task.fabric)] += times * (task.duration + task.hidden);
    }
  }
}

}  // namespace

TimeBreakdown exposed(const PassTotals& pass, const UniformOverlap& overlap,
                      const OccupiedShares& occupied) {
  TimeBreakdown breakdown;
  breakdown.compute = pass.compute;
  Seconds window = pass.compute;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    const Seconds hidden = min(overlap.hidden[axis] * pass.communication[axis], window);
    window -= hidden;
    breakdown.exposed[axis] = pass.communication[axis] - hidden;
    breakdown.contention += occupied[axis] * hidden;
  }
  return breakdown;
}

namespace {

PassTime computed_forward(const StageProgram& program, const PassPlace& place,
                          const StepContext& context, std::vector<StreamSpan>* record) {
  if (!context.expansion.plan.uniform) {
    return forward_pass(program, place, record);
  }
  UniformPass pass(program);
  for (const LayerRun& run : program.runs) {
    const LayerTasks& layer = pass.layer(run);
    const auto times = static_cast<double>(run.count);
    pass.add(layer.forward, times);
    pass.add_if(place.gathers(program.rule.forward_gather), layer.gather, times);
    pass.add_if(place.gathers(program.rule.forward_gather), layer.copy_out, times);
  }
  const PassTime time = pass.finish(context.expansion.plan.overlap, occupied_shares(context));
  if (record != nullptr) {
    UniformSpans(program, place).forward(time, *record);
  }
  return time;
}

PassTime computed_backward(const StageProgram& program, const PassPlace& place,
                           const StepContext& context, std::vector<StreamSpan>* record) {
  if (!context.expansion.plan.uniform) {
    return backward_pass(program, place, record);
  }
  UniformPass pass(program);
  for (const LayerRun& run : program.runs) {
    const LayerTasks& layer = pass.layer(run);
    const auto times = static_cast<double>(run.count);
    pass.add(layer.backward, times);
    if (run.recomputed) {
      pass.add(layer.full_recompute, times);
    }
    if (!layer.stays_gathered) {
      const auto gathers = static_cast<double>(program.rule.backward_gathers);
      const bool every_time = program.rule.backward_gather == Frequency::kEveryMicroBatch;
      pass.add_if(every_time, layer.gather, gathers * times);
      pass.add_if(every_time, layer.copy_out, gathers * times);
    }
    pass.add_if(place.reduces(program.rule.reduce), layer.before_reduce, times);
    pass.add_if(place.reduces(program.rule.reduce), layer.reduce, times);
    pass.add_if(place.last, layer.replicas, times);
  }
  const PassTime time = pass.finish(context.expansion.plan.overlap, occupied_shares(context));
  if (record != nullptr) {
    UniformSpans(program, place).backward(time, *record);
  }
  return time;
}

// The pass goes on when what it moves to and from the host is where it belongs.
PassTime with_transfers(PassTime pass, const LinkBytes& bytes, const HostTraffic& traffic) {
  pass.spent.host += waiting_for_link(bytes, traffic.link, pass.duration());
  return pass;
}

}  // namespace

PassTime forward_of(const StageProgram& program, const PassPlace& place, const StepContext& context,
                    std::vector<StreamSpan>* record) {
  return with_transfers(computed_forward(program, place, context, record), program.traffic.forward,
                        program.traffic);
}

PassTime backward_of(const StageProgram& program, const PassPlace& place,
                     const StepContext& context, std::vector<StreamSpan>* record) {
  const HostTraffic& traffic = program.traffic;
  return with_transfers(computed_backward(program, place, context, record),
                        place.last ? traffic.last_backward : traffic.backward, traffic);
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
