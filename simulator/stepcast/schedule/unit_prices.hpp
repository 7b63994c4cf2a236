// SPDX-License-Identifier: Apache-2.0
// Units of work as priced tasks at a clock.
#pragma once

#include "stepcast/cost/contention.hpp"
#include "stepcast/cost/cost_model.hpp"
#include "stepcast/schedule/stage_work.hpp"
#include "stepcast/schedule/stream_task.hpp"

namespace stepcast {

struct StepContext {
  const ExpansionContext& expansion;
  const ClusterSpec& cluster;
  const CostModel& cost;
  Hertz clock;
};

// What the step's kernels run on.
KernelContext kernel_context(const StepContext& context, Detail detail = Detail::kDuration);

struct UnitTasks {
  TaskList forward;
  TaskList again;     // of full recomputation, before backward
  TaskList backward;  // what selective recomputation runs again goes first
  TaskList gather;    // communication, its copy in front
  TaskList copy_out;  // computation after it
  TaskList before_reduce;
  TaskList reduce;
  TaskList replicas;
  bool held = false;
};

// Of the lists of a unit that computation waits for.
struct UnitSums {
  TaskSums forward;
  TaskSums again;
  TaskSums backward;
};
UnitSums sums_of(const UnitTasks& unit);

struct StepTasks {
  std::vector<UnitTasks> units;
  std::vector<UnitSums> sums;       // of `units`
  std::vector<TaskList> optimizer;  // of each pipeline rank
};

// Notes in `ops`, if it is given, the operators that StreamTask::op speaks of.
StepTasks price_step(const StepWork& work, const StepContext& context,
                     std::vector<Op>* ops = nullptr);

// The communication of a unit that runs beside computation takes at most this.
CommunicationLoad unit_load(const WorkUnit& unit, const StepContext& context);
// One unit, beside communication of `load`.
UnitTasks price_unit(const WorkUnit& unit, const StepContext& context,
                     const CommunicationLoad& load, std::vector<Op>* ops = nullptr);
// From stage to stage, by itself.
Seconds pipeline_transfer(const StepContext& context);
Fabric pipeline_fabric(const StepContext& context);

// One list of operators as blocking tasks, beside communication of `load`.
TaskList price(const OpList& ops, const StepContext& context, const CommunicationLoad& load = {});

}  // namespace stepcast
