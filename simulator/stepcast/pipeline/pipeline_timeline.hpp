// SPDX-License-Identifier: Apache-2.0
// One step of a pipeline, task by task.
//
// Every rank runs its tasks in the order of the schedule; a task starts exactly when its rank is
// free and its input has arrived. A transfer starts when its producer ends, or later where the
// ranks' runtime puts transfers in order (transfer_streams.hpp), and takes `transfer`; the producer
// goes on meanwhile unless ranks go step by step. With equal stages, free transfers and enough
// micro-batches, F forward, B the whole backward and W its gradient of weights, the bubble (the
// step less what a rank computes) is the closed form of the schedule:
//
//   GPipe, 1F1B    (p - 1) (F + B)
//   interleaved    (p - 1) (F + B) / v              where p divides m
//   ZB-H1          (p - 1) (F + B - 2 W)            where W = F = B - W
//   ZB-H2, ZBV     (p - 1) F, (p - 1) F / 2: only until the first micro-batch arrives, likewise
//   DualPipe       (p / 2 - 1) (F&B + B - 3 W)      F&B: a forward and a backward together
#pragma once

#include <optional>
#include <vector>

#include "stepcast/base/units.hpp"
#include "stepcast/pipeline/pipeline_order.hpp"

namespace stepcast {

// A micro-batch in a stage.
struct StageDuration {
  Seconds forward;
  Seconds backward;     // the whole of it
  Seconds weight = {};  // the part of `backward` that is the gradient of the weights
  // A forward and a backward of the stage side by side; one after the other if it is not given. A
  // pair of two stages saves what the one that saves less does.
  std::optional<Seconds> overlapped = std::nullopt;
  Seconds ready = {};        // of the parameters: the first forward starts no earlier
  Seconds first_extra = {};  // that the first forward on a rank takes longer
  Seconds last_extra = {};   // that the last backward does

  [[nodiscard]] Seconds saved() const {
    return overlapped ? forward + backward - *overlapped : Seconds{};
  }
};

struct TaskSpan {
  PipelineTask task;
  Seconds start;
  Seconds end;
  bool begins = false;  // the first forward of its chunk on the rank: waits for parameters
  bool closes = false;  // its backward, or gradient of weights, is the last of that chunk
};

// What was there last before a task began.
enum class WaitedFor {
  kRank,        // the end of the task before on its rank; of the first task, the step
  kInput,       // a transfer from another rank
  kParameters,  // the first gather
};
// A task by its rank and its place in the order of that rank.
struct TaskPlace {
  std::size_t rank = 0;
  std::size_t position = 0;
};

struct TimedTask {
  TaskPlace place;
  TaskSpan span;
  WaitedFor waited_for = WaitedFor::kRank;
  TaskPlace producer;  // for kInput: whose end the last transfer followed
};
// An input of a task on its way to another rank.
struct TimedTransfer {
  std::size_t from = 0;
  std::size_t to = 0;
  std::int64_t micro_batch = 0;
  Seconds start;
  Seconds end;
};

// Hears of the tasks of all ranks one by one, each behind all that it waits for and right behind
// the transfers of its own inputs.
class TaskListener {
 public:
  virtual ~TaskListener() = default;
  virtual void transfer(const TimedTransfer& /*transfer*/) {}
  virtual void task(const TimedTask& /*task*/) {}
};

struct RankTimeline {
  std::vector<TaskSpan> spans;     // in order; never overlapping
  Seconds bubble;                  // idle, waiting for a task of another rank
  Seconds transfer;                // idle, while the awaited input is on its way
  Seconds parameters;              // idle, until they are gathered
  Seconds end;                     // of the last task
  std::vector<Seconds> chunk_end;  // of the last task of each chunk
  double in_flight = 0.0;          // activations resident at the peak (peak_in_flight);
                                   // 0 where the orders were given
};

// What pairs of a forward and a backward save, instead of StageDuration::overlapped: forward-major,
// one entry for each two stages; empty: not given.
using PairSavings = std::vector<Seconds>;

// `stages` has one entry for each stage of the model. Throws InternalError if the schedule waits
// for itself.
std::vector<RankTimeline> pipeline_timeline(Schedule schedule, const PipelineShape& shape,
                                            const std::vector<StageDuration>& stages,
                                            Seconds transfer);
// As above, for orders of the ranks that are known already; `listener` may be null.
std::vector<RankTimeline> pipeline_timeline(Schedule schedule, const PipelineShape& shape,
                                            const std::vector<RankOrder>& orders,
                                            const std::vector<StageDuration>& stages,
                                            Seconds transfer, const PairSavings& savings = {},
                                            PipelineTransfers order = PipelineTransfers::kFree,
                                            TaskListener* listener = nullptr);

// How long a rank takes for one of its tasks, once all inputs are there.
Seconds task_duration(const PipelineTask& task, const StageDuration& stage,
                      const StageDuration& backward_stage);

// As above, for a task of stage `stage`, or a pair of its forward with the backward of stage
// `back`, which saves what `savings` says where they are given.
Seconds task_duration(TaskKind kind, std::size_t stage, std::size_t back,
                      const std::vector<StageDuration>& stages, const PairSavings& savings);

}  // namespace stepcast
