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
        work_.communication[slot(*task.axis)] += times * task.alone;
        time_.hidden.exposed[slot(*task.axis)] += times * task.hidden;
      } else {
        work_.compute += times * task.alone;
        time_.energy += times * task.energy;
        time_.weight += task.weight_gradient ? times * task.alone : Seconds{};
      }
      launching_ += times * task.host;
    }
  }

  void add_if(Frequency frequency, bool once, const TaskList& tasks, double times) {
    if (frequency == Frequency::kEveryMicroBatch || (frequency == Frequency::kOnceAStep && once)) {
      add(tasks, times);
    }
  }

  PassTime finish(const UniformOverlap& overlap, const UnitsHeld& held) {
    time_.spent = exposed(work_, overlap, held);
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      time_.hidden.exposed[axis] += work_.communication[axis] - time_.spent.exposed[axis];
    }
    time_.spent.host += max(Seconds{}, launching_ - time_.spent.total());
    return time_;
  }

  [[nodiscard]] const UnitTasks& unit(const UnitRun& run) const {
    return program_.tasks.units[run.unit];
  }

 private:
  const StageProgram& program_;
  PassWork work_;
  PassTime time_;
  Seconds launching_;
};

}  // namespace

TimeBreakdown exposed(const PassWork& pass, const UniformOverlap& overlap, const UnitsHeld& held) {
  TimeBreakdown breakdown;
  breakdown.compute = pass.compute;
  Seconds window = pass.compute;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    const Seconds hidden = min(overlap.hidden[axis] * pass.communication[axis], window);
    window -= hidden;
    breakdown.exposed[axis] = pass.communication[axis] - hidden;
    breakdown.contention += held[axis] * hidden;
  }
  return breakdown;
}

PassTime uniform_forward(const StageProgram& program, const PassPlace& place,
                         const UniformOverlap& overlap, const UnitsHeld& held) {
  UniformPass pass(program);
  for (const UnitRun& run : program.runs) {
    const UnitTasks& unit = pass.unit(run);
    const auto times = static_cast<double>(run.count);
    pass.add(unit.forward, times);
    pass.add_if(program.rule.forward_gather, place.first, unit.gather, times);
    pass.add_if(program.rule.forward_gather, place.first, unit.copy_out, times);
  }
  return pass.finish(overlap, held);
}

PassTime uniform_backward(const StageProgram& program, const PassPlace& place,
                          const UniformOverlap& overlap, const UnitsHeld& held) {
  UniformPass pass(program);
  for (const UnitRun& run : program.runs) {
    const UnitTasks& unit = pass.unit(run);
    const auto times = static_cast<double>(run.count);
    pass.add(unit.backward, times);
    if (run.again) {
      pass.add(unit.again, times);
    }
    if (!unit.held) {
      const auto gathers = static_cast<double>(program.rule.backward_gathers);
      pass.add_if(program.rule.backward_gather, false, unit.gather, gathers * times);
      pass.add_if(program.rule.backward_gather, false, unit.copy_out, gathers * times);
    }
    pass.add_if(program.rule.reduce, place.last, unit.before_reduce, times);
    pass.add_if(program.rule.reduce, place.last, unit.reduce, times);
    pass.add_if(Frequency::kOnceAStep, place.last, unit.replicas, times);
  }
  return pass.finish(overlap, held);
}

}  // namespace stepcast
