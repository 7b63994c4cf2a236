// SPDX-License-Identifier: Apache-2.0
// The order in which a pipeline rank runs the forwards and backwards of its (virtual) stages.
//
// 1F1B (Narayanan et al., arXiv 2104.04473): rank r of p first runs min(m, p - 1 - r) forwards,
// then alternates one forward and one backward, then drains. Interleaved: the m micro-batches are
// taken in groups of p, the last of which also takes the remainder (a group smaller than p would
// wait for itself); a group passes through all v chunks of a rank before the next one starts;
// 2 (p - 1 - r) + (v - 1) g forwards warm up, g the largest group.
#pragma once

#include <cstdint>
#include <vector>

#include "stepcast/parallel/parallel_plan.hpp"

namespace stepcast {

enum class TaskKind { kForward, kBackward };

struct PipelineTask {
  TaskKind kind = TaskKind::kForward;
  std::int32_t chunk = 0;  // virtual stage on the rank, 0 <= chunk < vpp
  std::int32_t micro_batch = 0;
  bool operator==(const PipelineTask&) const = default;
};

struct PipelineShape {
  std::int64_t ranks = 1;
  std::int64_t chunks = 1;  // of a rank
  std::int64_t micro_batches = 1;
};

// The order of rank `rank`, every task exactly once.
std::vector<PipelineTask> pipeline_order(Schedule schedule, const PipelineShape& shape,
                                         std::int64_t rank);

}  // namespace stepcast
