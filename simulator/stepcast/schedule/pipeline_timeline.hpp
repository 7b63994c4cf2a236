// SPDX-License-Identifier: Apache-2.0
// One step of a pipeline, task by task.
//
// Every rank runs its tasks in the order of the schedule; a task starts exactly when its rank is
// free and its input has arrived. A transfer starts when its producer ends and takes `transfer`;
// the producer goes on meanwhile. With equal stages and free transfers the bubble is the closed
// form: of 1F1B (p-1)(F+B), interleaved (p-1)(F+B)/v where p divides m.
#pragma once

#include <vector>

#include "stepcast/base/units.hpp"
#include "stepcast/parallel/pipeline_order.hpp"

namespace stepcast {

struct StageDuration {
  Seconds forward;
  Seconds backward;
  Seconds first_forward{-1.0};  // of micro-batch 0; below 0: as the others
  Seconds last_backward{-1.0};  // of the last one; likewise
};

struct TaskSpan {
  PipelineTask task;
  Seconds start;
  Seconds end;
};

struct RankTimeline {
  std::vector<TaskSpan> spans;  // in order; never overlapping
  Seconds bubble;               // idle, waiting for a task of another rank
  Seconds transfer;             // idle, while the awaited input is on its way
  Seconds end;                  // of the last task
};

// `stages` has shape.ranks * shape.chunks entries, stage i on rank i mod ranks. Throws
// InternalError if the schedule waits for itself.
std::vector<RankTimeline> pipeline_timeline(Schedule schedule, const PipelineShape& shape,
                                            const std::vector<StageDuration>& stages,
                                            Seconds transfer);

}  // namespace stepcast
