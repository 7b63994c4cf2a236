// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/uniform_spans.hpp"

#include <algorithm>

namespace stepcast {
namespace {

class UniformSpans {
 public:
  UniformSpans(const StageProgram& program, const PassPlace& place)
      : program_(program), place_(place) {}

  std::vector<StreamSpan> forward(const PassTime& time) {
    for (const LayerInOrder& entry : layers_in_order(program_.runs)) {
      const LayerTasks& layer = program_.tasks.layers[entry.layer];
      gather(layer, program_.rule.forward_gather, place_.first);
      add(layer.forward);
    }
    return spans(time);
  }

  std::vector<StreamSpan> backward(const PassTime& time) {
    std::vector<LayerInOrder> layers = layers_in_order(program_.runs);
    std::reverse(layers.begin(), layers.end());
    for (const LayerInOrder& entry : layers) {
      const LayerTasks& layer = program_.tasks.layers[entry.layer];
      for (std::int64_t i = 0; i < program_.rule.backward_gathers && !layer.stays_gathered; ++i) {
        gather(layer, program_.rule.backward_gather, false);
      }
      add(entry.recomputed ? layer.full_recompute : TaskList{});
      add(layer.backward);
      if (happens(program_.rule.reduce, place_.last)) {
        add(layer.before_reduce);
        add(layer.reduce);
      }
      add(place_.last ? layer.replicas : TaskList{});
    }
    return spans(time);
  }

 private:
  static bool happens(Frequency frequency, bool once) {
    return frequency == Frequency::kEveryMicroBatch || (frequency == Frequency::kOnceAStep && once);
  }

  void gather(const LayerTasks& layer, Frequency frequency, bool once) {
    if (happens(frequency, once)) {
      add(layer.gather);
      add(layer.copy_out);
    }
  }

  void add(const TaskList& tasks) { tasks_.insert(tasks_.end(), tasks.begin(), tasks.end()); }

  std::vector<StreamSpan> spans(const PassTime& time) {
    TaskSums sums = sums_of(tasks_);
    const TimeBreakdown& spent = time.spent;
    const double slower =
        sums.compute > Seconds{} ? (spent.compute + spent.contention) / sums.compute : 1.0;
    std::vector<StreamSpan> result;
    Seconds now;
    for (const StreamTask& task : tasks_) {
      if (task.axis && task.mode == TaskMode::kJoin) {
        continue;
      }
      if (!task.axis) {
        const Seconds end = now + slower * task.duration;
        result.push_back({task.axis, now, end, now, task.op, {}, task.host});
        now = end;
        continue;
      }
      const Seconds all = sums.exposed[slot(*task.axis)];
      const double share = all > Seconds{} ? spent.exposed[slot(*task.axis)] / all : 0.0;
      now += share * task.duration;
      const Seconds start = max(Seconds{}, now - task.duration);
      const Seconds end = start + task.duration;
      result.push_back({task.axis, start, end, start, task.op, task.hidden, task.host});
    }
    return result;
  }

  const StageProgram& program_;
  PassPlace place_;
  TaskList tasks_;
};

}  // namespace

std::vector<StreamSpan> uniform_forward_spans(const StageProgram& program, const PassPlace& place,
                                              const PassTime& time) {
  return UniformSpans(program, place).forward(time);
}

std::vector<StreamSpan> uniform_backward_spans(const StageProgram& program, const PassPlace& place,
                                               const PassTime& time) {
  return UniformSpans(program, place).backward(time);
}

}  // namespace stepcast
