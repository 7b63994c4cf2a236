// SPDX-License-Identifier: Apache-2.0
// Which stages of the model a pipeline rank runs.
//
// Of p ranks with v chunks each, chunk c of rank r is
//   loop            stage c p + r                   (Narayanan et al., arXiv 2104.04473)
//   V               stage r, and stage 2 p - 1 - r  (Qi et al., arXiv 2405.15362; v = 2)
//   bidirectional   stage r, and stage p - 1 - r    (DeepSeek-V3, arXiv 2412.19437; v = 1): every
//                   stage lies on two ranks, the first half of the micro-batches passes from rank 0
//                   up, the other half from rank p - 1 down
#pragma once

#include <cstdint>
#include <vector>

#include "stepcast/plan/parallel_plan.hpp"

namespace stepcast {

struct PipelineShape {
  std::int64_t ranks = 1;
  std::int64_t chunks = 1;  // stages a rank, as the model is cut: vpp
  std::int64_t micro_batches = 1;
  bool operator==(const PipelineShape&) const = default;
};

PipelineShape pipeline_shape(const ParallelPlan& plan);

enum class StagePlacement { kLoop, kV, kBidirectional };
// That of its row (schedules/schedule_info.hpp).
StagePlacement placement_of(Schedule schedule);

// Stages of the whole model: ranks * chunks.
std::int64_t stage_count(const PipelineShape& shape);
// Stages that each rank runs: as many as it has chunks, or two where both directions pass it.
std::int64_t chunks_per_rank(Schedule schedule, const PipelineShape& shape);
// The stage of chunk `chunk` of rank `rank`; 0 <= chunk < chunks_per_rank.
std::int64_t stage_on(StagePlacement placement, const PipelineShape& shape, std::int64_t rank,
                      std::int64_t chunk);
std::int64_t stage_on(Schedule schedule, const PipelineShape& shape, std::int64_t rank,
                      std::int64_t chunk);
// Micro-batches that pass through chunk `chunk` of every rank in a step.
std::int64_t micro_batches_through(Schedule schedule, const PipelineShape& shape,
                                   std::int64_t chunk);
// Whether the output of `stage` goes to another rank: there is a stage after it, and not on the
// same rank.
bool crosses_ranks(Schedule schedule, const PipelineShape& shape, std::int64_t stage);

// A stage that a rank runs, and the micro-batches of a step that pass through it there.
struct RankStage {
  std::size_t stage = 0;
  std::int64_t chunk = 0;
  std::int64_t micro_batches = 0;
};
// The stages that pipeline rank `rank` of `plan` runs, by chunk.
std::vector<RankStage> stages_of_rank(const ParallelPlan& plan, std::int64_t rank);

}  // namespace stepcast
