// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/stream_task.hpp"

namespace stepcast {

TaskSums sums_of(const TaskList& tasks) {
  TaskSums sums;
  for (const StreamTask& task : tasks) {
    sums.energy += task.energy;
    if (task.axis) {
      const auto axis = static_cast<std::size_t>(*task.axis);
      sums.exposed[axis] += task.duration;
    } else {
      sums.compute += task.duration;
      sums.weight += task.weight_gradient ? task.duration : Seconds{};
      sums.launching_weight += task.weight_gradient ? task.host : Seconds{};
    }
  }
  return sums;
}

}  // namespace stepcast
