// SPDX-License-Identifier: Apache-2.0
// The order in which every pipeline rank runs its tasks.
//
// An order depends on the schedule, the ranks, the chunks and the micro-batches, not on durations:
// schedules that place tasks into gaps do so for tasks of one length (F = B = W), as their papers
// draw them. Each order is one that a timetable has followed, so that no durations can make it wait
// for itself. The families, with their sources: schedules/one_f_one_b.hpp, building_block.hpp and
// dual_pipe.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "stepcast/pipeline/pipeline_stages.hpp"

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

}  // namespace stepcast
