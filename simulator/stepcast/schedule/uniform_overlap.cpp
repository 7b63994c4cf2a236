// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/uniform_overlap.hpp"

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

  void add_if(Frequency frequency, bool once, const TaskList& tasks, double times) {
    if (frequency == Frequency::kEveryMicroBatch || (frequency == Frequency::kOnceAStep && once)) {
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

PassTime uniform_forward(const StageProgram& program, const PassPlace& place,
                         const UniformOverlap& overlap, const OccupiedShares& occupied) {
  UniformPass pass(program);
  for (const LayerRun& run : program.runs) {
    const LayerTasks& layer = pass.layer(run);
    const auto times = static_cast<double>(run.count);
    pass.add(layer.forward, times);
    pass.add_if(program.rule.forward_gather, place.first, layer.gather, times);
    pass.add_if(program.rule.forward_gather, place.first, layer.copy_out, times);
  }
  return pass.finish(overlap, occupied);
}

PassTime uniform_backward(const StageProgram& program, const PassPlace& place,
                          const UniformOverlap& overlap, const OccupiedShares& occupied) {
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
      pass.add_if(program.rule.backward_gather, false, layer.gather, gathers * times);
      pass.add_if(program.rule.backward_gather, false, layer.copy_out, gathers * times);
    }
    pass.add_if(program.rule.reduce, place.last, layer.before_reduce, times);
    pass.add_if(program.rule.reduce, place.last, layer.reduce, times);
    pass.add_if(Frequency::kOnceAStep, place.last, layer.replicas, times);
  }
  return pass.finish(overlap, occupied);
}

}  // namespace stepcast
