// SPDX-License-Identifier: Apache-2.0
#include "stepcast/pipeline/pipeline_stages.hpp"

namespace stepcast {

PipelineShape pipeline_shape(const ParallelPlan& plan) {
  return {plan.pp, plan.vpp, plan.micro_batches};
}

std::int64_t stage_count(const PipelineShape& shape) { return shape.ranks * shape.chunks; }

std::int64_t chunks_per_rank(Schedule schedule, const PipelineShape& shape) {
  return placement_of(schedule) == StagePlacement::kBidirectional ? 2 : shape.chunks;
}

std::int64_t stage_on(StagePlacement placement, const PipelineShape& shape, std::int64_t rank,
                      std::int64_t chunk) {
  if (chunk > 0) {
    switch (placement) {
      case StagePlacement::kV:
        return 2 * shape.ranks - 1 - rank;
      case StagePlacement::kBidirectional:
        return shape.ranks - 1 - rank;
      case StagePlacement::kLoop:
        break;
    }
  }
  return chunk * shape.ranks + rank;
}

std::int64_t stage_on(Schedule schedule, const PipelineShape& shape, std::int64_t rank,
                      std::int64_t chunk) {
  return stage_on(placement_of(schedule), shape, rank, chunk);
}

std::int64_t micro_batches_through(Schedule schedule, const PipelineShape& shape,
                                   std::int64_t chunk) {
  if (placement_of(schedule) != StagePlacement::kBidirectional) {
    return shape.micro_batches;
  }
  const std::int64_t up = (shape.micro_batches + 1) / 2;
  return chunk == 0 ? up : shape.micro_batches - up;
}

bool crosses_ranks(Schedule schedule, const PipelineShape& shape, std::int64_t stage) {
  const bool turns = placement_of(schedule) == StagePlacement::kV && stage + 1 == shape.ranks;
  return shape.ranks > 1 && stage >= 0 && stage + 1 < stage_count(shape) && !turns;
}

std::vector<RankStage> stages_of_rank(const ParallelPlan& plan, std::int64_t rank) {
  const PipelineShape shape = pipeline_shape(plan);
  const std::int64_t chunks = chunks_per_rank(plan.schedule, shape);
  std::vector<RankStage> stages;
  stages.reserve(static_cast<std::size_t>(chunks));
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    stages.push_back({static_cast<std::size_t>(stage_on(plan.schedule, shape, rank, chunk)), chunk,
                      micro_batches_through(plan.schedule, shape, chunk)});
  }
  return stages;
}

}  // namespace stepcast
