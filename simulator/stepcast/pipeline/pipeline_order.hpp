// SPDX-License-Identifier: Apache-2.0
// The order in which every pipeline rank runs its tasks.
//
// An order depends on the schedule, the ranks, the chunks and the micro-batches, not on durations:
// schedules that place tasks into gaps do so for tasks of one length (F = B = W), as their papers
// draw them. Each order is one that a timetable has followed, so that no durations can make it wait
// for itself. The families, with their sources, are the files of schedules/.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stepcast/model/model_spec.hpp"
#include "stepcast/pipeline/pipeline_stages.hpp"
#include "stepcast/plan/software_spec.hpp"

namespace stepcast {

// kBackward is the whole of it; schedules that split it run the gradient of the input (which the
// stage before waits for) and that of the weights (for which nobody waits) apart. kOverlapped is
// one forward and one whole backward that run side by side.
enum class TaskKind : std::uint8_t {
  kForward,
  kBackward,
  kInputGradient,
  kWeightGradient,
  kOverlapped,
};

struct PipelineTask {
  TaskKind kind = TaskKind::kForward;
  std::int32_t chunk = 0;  // of the rank, 0 <= chunk < chunks_per_rank
  std::int32_t micro_batch = 0;
  // Of the backward of an overlapped pair; chunk and micro_batch are those of its forward.
  std::int32_t backward_chunk = 0;
  std::int32_t backward_micro_batch = 0;
  bool operator==(const PipelineTask&) const = default;
  // Alone or beside a backward.
  [[nodiscard]] bool runs_forward() const {
    return kind == TaskKind::kForward || kind == TaskKind::kOverlapped;
  }
};

using RankOrder = std::vector<PipelineTask>;

// The order of every rank, every task exactly once.
std::vector<RankOrder> pipeline_orders(Schedule schedule, const PipelineShape& shape);
// That of one rank.
RankOrder pipeline_order(Schedule schedule, const PipelineShape& shape, std::int64_t rank);

// Chunks whose activations of one micro-batch a task begins to hold, before it runs, and gives
// back, after it: a forward takes them, and the gradient of the weights, the last that reads them,
// returns them. What an input gradient alone may already free is not counted.
inline constexpr std::int32_t kNoChunk = -1;
struct ActivationChange {
  std::int32_t taken = kNoChunk;
  std::int32_t returned = kNoChunk;
};
ActivationChange activation_change(const PipelineTask& task);

// The most activations that an order holds, in those of one micro-batch over 1 / p of the model: a
// chunk counts p / stages.
double peak_in_flight(const RankOrder& order, const PipelineShape& shape);

// How the order of a pipeline rank repeats between filling and draining.

// `tasks` later the rank runs the same task of a micro-batch that is `micro_batches` later: for
// every position begin <= i < end, with i + tasks inside the order.
struct OrderPeriod {
  std::int64_t tasks = 0;
  std::int64_t micro_batches = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// The periods that are tried for the orders of a pipeline, the shortest first: one to three tasks
// of each chunk that a rank runs, of one micro-batch or of as many as there are ranks.
struct PeriodCandidates {
  std::int64_t chunks = 1;
  std::int64_t ranks = 1;
};

// The shortest period of the middle half of an order, if it has one.
std::optional<OrderPeriod> order_period(const RankOrder& order, const PeriodCandidates& candidates);

// Whether `later` is `earlier` of a micro-batch that is `micro_batches` later.
bool follows(const PipelineTask& earlier, const PipelineTask& later, std::int64_t micro_batches);

// Orders in which a rank runs each backward beside the forward that follows it.
//
// Megatron-LM (overlap_moe_expert_parallel_comm; combined_1f1b.py, get_pp_rank_microbatches): one
// forward more than otherwise comes before the first backward, so that forward and backward of a
// pair are of different micro-batches and neither needs the other; the last backwards run alone.
// Without a pipeline the first forward and the last backward do. A rank holds as many
// micro-batches as without pairs, and a layer more: backward frees layer by layer what the forward
// beside it takes.

// How the passes of a rank follow each other.
enum class PassOrder {
  kOneByOne,
  kPaired,  // each backward that a forward follows directly runs beside it
};

// The order of a plan's ranks: paired where the software pairs passes of a schedule that allows it,
// and parameters are not gathered for every pass.
PassOrder pass_order(const ParallelPlan& plan, const ModelSpec& model,
                     const SoftwareSpec& software);

// How the ranks of a plan run their tasks and what these hand on.
struct PipelineRuntime {
  PassOrder passes = PassOrder::kOneByOne;
  PipelineTransfers transfers = PipelineTransfers::kFree;
  bool operator==(const PipelineRuntime&) const = default;
};
PipelineRuntime pipeline_runtime(const ParallelPlan& plan, const ModelSpec& model,
                                 const SoftwareSpec& software);

// The order of a rank with each backward that a forward follows directly beside it.
RankOrder paired_order(const RankOrder& order);

// The orders of all ranks.
std::vector<RankOrder> pipeline_orders(Schedule schedule, const PipelineShape& shape,
                                       PassOrder order);

}  // namespace stepcast
