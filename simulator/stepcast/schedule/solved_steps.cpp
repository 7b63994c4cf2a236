// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/solved_steps.hpp"

#include <algorithm>

#include "stepcast/parallel/pipeline_order.hpp"
#include "stepcast/schedule/paired_passes.hpp"

namespace stepcast {
namespace {

// What is kept stays within some hundred MiB.
constexpr std::size_t kMostShares = 256;
constexpr std::size_t kMostTasks = 1'000'000;
constexpr std::size_t kMostShapes = 4'096;

std::vector<ChunkPair> chunk_pairs(const RankOrder& order) {
  std::vector<ChunkPair> pairs;
  for (const PipelineTask& task : order) {
    if (task.kind != TaskKind::kOverlapped) {
      continue;
    }
    const auto known = std::find_if(pairs.begin(), pairs.end(), [&](const ChunkPair& pair) {
      return pair.forward == task.chunk && pair.backward == task.backward_chunk;
    });
    if (known == pairs.end()) {
      pairs.push_back({task.chunk, task.backward_chunk, 1});
    } else {
      ++known->times;
    }
  }
  return pairs;
}

SolvedPipeline solved(Schedule schedule, const PipelineShape& shape, bool paired) {
  std::vector<RankOrder> orders = pipeline_orders(schedule, shape);
  if (paired) {
    std::transform(orders.begin(), orders.end(), orders.begin(), paired_order);
  }
  SolvedPipeline pipeline{PipelineProgram(schedule, shape, orders), {}};
  std::transform(orders.begin(), orders.end(), std::back_inserter(pipeline.pairs), chunk_pairs);
  return pipeline;
}

}  // namespace

std::size_t SolvedSteps::ShapeHash::operator()(const Shape& shape) const {
  std::size_t hash = static_cast<std::size_t>(shape.schedule);
  for (const std::int64_t value :
       {shape.shape.ranks, shape.shape.chunks, shape.shape.micro_batches}) {
    hash = (hash ^ static_cast<std::size_t>(value)) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 29U;
  }
  return hash;
}

void SolvedSteps::forget_if_many() {
  if (shares_.size() >= kMostShares) {
    shares_.clear();
  }
  if (tasks_kept_ >= kMostTasks || shapes_.size() >= kMostShapes) {
    shapes_.clear();
    tasks_kept_ = 0;
  }
}

PlanOutline SolvedSteps::outline(const ExpansionContext& context) {
  forget_if_many();
  PlanOutline outline;
  outline.share = &shares_.try_emplace(rank_share(context), context).first->second;
  outline.classes = stage_classes(context);
  for (std::size_t i = 0; i < outline.classes.classes.size(); ++i) {
    outline.solved.push_back(
        outline.share->stage(outline.classes.classes[i], context, outline.classes.first[i]));
  }
  return outline;
}

std::vector<StageMemory> SolvedSteps::memory(const PlanOutline& outline,
                                             const ExpansionContext& context) {
  KeptShape& kept = shape_of(context.plan);
  if (!kept.held) {
    kept.held = held_moments_of(context.plan);
  }
  MemoryParts parts;
  parts.stages.reserve(outline.classes.of_stage.size());
  for (const std::size_t own : outline.classes.of_stage) {
    parts.stages.push_back(
        &outline.share->holding(outline.solved[own], context, outline.classes.first[own]));
  }
  parts.exchange = outline.share->exchange_memory(context);
  return memory_by_stage(context, parts, *kept.held);
}

const SolvedPipeline& SolvedSteps::pipeline(const ParallelPlan& plan, bool paired) {
  KeptShape& kept = shape_of(plan);
  std::optional<SolvedPipeline>& own = paired ? kept.paired : kept.plain;
  if (!own) {
    own = solved(plan.schedule, pipeline_shape(plan), paired);
    tasks_kept_ += own->program.tasks_kept();
  }
  return *own;
}

SolvedSteps::KeptShape& SolvedSteps::shape_of(const ParallelPlan& plan) {
  return shapes_[{plan.schedule, pipeline_shape(plan)}];
}

}  // namespace stepcast
