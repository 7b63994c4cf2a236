// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/stream_task.hpp"

#include "stepcast/base/sum.hpp"

namespace stepcast {

void TaskSums::add(double times, const TaskSums& other) {
  compute += times * other.compute;
  contended += times * other.contended;
  weight += times * other.weight;
  launching_weight += times * other.launching_weight;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    exposed[axis] += times * other.exposed[axis];
  }
  blocking += times * other.blocking;
  launching += times * other.launching;
  energy += times * other.energy;
}

TaskSums sums_of(const TaskList& tasks) {
  TaskSums sums;
  for (const StreamTask& task : tasks) {
    sums.energy += task.energy;
    sums.launching += task.host;
    if (task.axis) {
      const auto axis = static_cast<std::size_t>(*task.axis);
      sums.exposed[axis] += task.duration;
      sums.blocking += task.mode == TaskMode::kBlocking ? task.duration : Seconds{};
    } else {
      sums.compute += task.duration;
      sums.contended += task.contended;
      sums.weight += task.weight_gradient ? task.duration : Seconds{};
      sums.launching_weight += task.weight_gradient ? task.host : Seconds{};
    }
  }
  return sums;
}

Seconds duration_of(const TaskList& tasks) { return sum_over(tasks, &StreamTask::duration); }

}  // namespace stepcast
