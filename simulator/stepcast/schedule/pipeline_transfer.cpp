// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/pipeline_transfer.hpp"

#include <algorithm>

namespace stepcast {
namespace {

Seconds over_fabric(const TaskList& tasks, Fabric fabric) {
  Seconds sum;
  for (const StreamTask& task : tasks) {
    sum += task.axis && task.fabric == fabric ? task.alone + task.hidden : Seconds{};
  }
  return sum;
}

// Share of a stage's passes in which it communicates over `fabric` for every micro-batch.
double busy_share(const StepWork& work, const StepTasks& tasks, std::size_t stage, Seconds passes,
                  Fabric fabric) {
  const auto every = [](Frequency frequency) {
    return frequency == Frequency::kEveryMicroBatch ? 1.0 : 0.0;
  };
  const TrafficRule& rule = work.rule;
  const double gathers = every(rule.forward_gather) +
                         static_cast<double>(rule.backward_gathers) * every(rule.backward_gather);
  Seconds busy;
  for (const UnitRun& run : work.stages[stage]) {
    const UnitTasks& unit = tasks.units[run.unit];
    Seconds once = over_fabric(unit.forward, fabric) + over_fabric(unit.backward, fabric) +
                   gathers * over_fabric(unit.gather, fabric) +
                   every(rule.reduce) * over_fabric(unit.reduce, fabric);
    once += run.again ? over_fabric(unit.again, fabric) : Seconds{};
    busy += static_cast<double>(run.count) * once;
  }
  return passes > Seconds{} ? std::min(1.0, busy / passes) : 0.0;
}

}  // namespace

Seconds shared_transfer(const StepWork& work, const StepTasks& tasks,
                        const std::vector<Seconds>& passes) {
  if (tasks.transfer_fabric == Fabric::kNone || !(tasks.transfer > Seconds{})) {
    return tasks.transfer;
  }
  double busy = 0.0;
  for (std::size_t stage = 0; stage < passes.size(); ++stage) {
    busy += busy_share(work, tasks, stage, passes[stage], tasks.transfer_fabric);
  }
  return (1.0 + busy / static_cast<double>(passes.size())) * tasks.transfer;
}

}  // namespace stepcast
