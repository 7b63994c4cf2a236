// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/solved_pipelines.hpp"

#include <algorithm>

#include "stepcast/base/hash.hpp"
#include "stepcast/memory/memory_footprint.hpp"
#include "stepcast/pipeline/pipeline_order.hpp"

namespace stepcast {
namespace {

// What is kept stays within some hundred MiB.
constexpr std::size_t kMostTasks = 4'000'000;
constexpr std::size_t kMostShapes = 4'096;

// `round`: tasks of one round of the steady state, which the middle of an order is part of.
std::vector<ChunkPair> chunk_pairs(const RankOrder& order, std::int64_t round) {
  std::vector<ChunkPair> pairs;
  const std::int64_t middle = std::ssize(order) / 2;
  for (std::int64_t i = 0; i < std::ssize(order); ++i) {
    const PipelineTask& task = order[static_cast<std::size_t>(i)];
    if (task.kind != TaskKind::kOverlapped) {
      continue;
    }
    const std::int64_t in_round = i >= middle && i < middle + round ? 1 : 0;
    const auto known = std::ranges::find_if(pairs, [&](const ChunkPair& pair) {
      return pair.forward == task.chunk && pair.backward == task.backward_chunk;
    });
    if (known == pairs.end()) {
      pairs.push_back({task.chunk, task.backward_chunk, 1, in_round});
    } else {
      ++known->times;
      known->in_round += in_round;
    }
  }
  return pairs;
}

SolvedPipeline solve(Schedule schedule, const PipelineShape& shape,
                     const PipelineRuntime& runtime) {
  const std::vector<RankOrder> orders = pipeline_orders(schedule, shape, runtime.passes);
  SolvedPipeline pipeline{PipelineProgram(schedule, shape, orders, runtime.transfers), {}};
  const std::int64_t round = pipeline.program.tasks_of_round() / shape.ranks;
  std::transform(orders.begin(), orders.end(), std::back_inserter(pipeline.pairs),
                 [round](const RankOrder& own) { return chunk_pairs(own, round); });
  return pipeline;
}

// Micro-batches of a step that enter the pipeline in one direction.
std::int64_t directions(Schedule schedule) {
  return placement_of(schedule) == StagePlacement::kBidirectional ? 2 : 1;
}

// The shape with the fewest micro-batches that fills, repeats itself and drains as `shape` does.
PipelineShape shortest(const PipelineShape& shape) {
  const std::int64_t group = 2 * shape.ranks;  // a multiple of the round of every schedule
  const std::int64_t enough = 6 * shape.ranks + group;
  PipelineShape result = shape;
  if (shape.micro_batches > enough) {
    result.micro_batches = enough + (shape.micro_batches - enough) % group;
  }
  return result;
}

// Whether the moments of more micro-batches follow from these.
bool stand_for_more(const std::vector<PeakMoments>& ranks) {
  return std::ranges::all_of(ranks,
                             [](const PeakMoments& rank) { return rank.repeats || rank.piles_up; });
}

}  // namespace

std::size_t SolvedPipelines::ShapeHash::operator()(const Shape& shape) const {
  const auto& [schedule, pipeline] = shape;
  const auto& [ranks, chunks, micro_batches] = pipeline;
  return hash_of_values(schedule, ranks, chunks, micro_batches);
}

std::shared_ptr<SolvedPipelines::KeptShape> SolvedPipelines::kept(const Shape& shape) {
  const std::scoped_lock lock(busy_);
  if (tasks_kept_ >= kMostTasks || shapes_.size() >= kMostShapes) {
    shapes_.clear();  // who uses one of them holds it
    tasks_kept_ = 0;
  }
  std::shared_ptr<KeptShape>& own = shapes_[shape];
  if (!own) {
    own = std::make_shared<KeptShape>();
  }
  return own;
}

std::shared_ptr<const SolvedPipeline> SolvedPipelines::solved(const Shape& shape,
                                                              const PipelineRuntime& runtime) {
  const std::shared_ptr<KeptShape> all = kept(shape);
  const std::scoped_lock lock(all->busy);
  const auto known = std::ranges::find(all->programs, runtime, &KeptProgram::runtime);
  if (known != all->programs.end()) {
    return known->solved;
  }
  all->programs.push_back({runtime, std::make_shared<const SolvedPipeline>(
                                        solve(shape.schedule, shape.shape, runtime))});
  const std::scoped_lock count(busy_);
  tasks_kept_ += all->programs.back().solved->program.tasks_kept();
  return all->programs.back().solved;
}

std::shared_ptr<const std::vector<PeakMoments>> SolvedPipelines::peak_moments(const Shape& shape) {
  const std::shared_ptr<KeptShape> all = kept(shape);
  const std::scoped_lock lock(all->busy);
  if (!all->peak_moments) {
    all->peak_moments = std::make_shared<const std::vector<PeakMoments>>(
        peak_moments_of(shape.schedule, shape.shape));
  }
  return all->peak_moments;
}

KeptMoments SolvedPipelines::moments(const ParallelPlan& plan) {
  const PipelineShape shape = pipeline_shape(plan);
  const PipelineShape shortened = shortest(shape);
  std::shared_ptr<const std::vector<PeakMoments>> own = peak_moments({plan.schedule, shortened});
  if (shortened == shape) {
    return {std::move(own), 0};
  }
  if (!stand_for_more(*own)) {
    return {peak_moments({plan.schedule, shape}), 0};
  }
  return {std::move(own),
          (shape.micro_batches - shortened.micro_batches) / directions(plan.schedule)};
}

PlanPipeline SolvedPipelines::pipeline(const ParallelPlan& plan, const PipelineRuntime& runtime) {
  const PipelineShape shape = pipeline_shape(plan);
  // Transfers in order do not repeat, so nothing can be left out of them.
  const PipelineShape shortened =
      runtime.transfers == PipelineTransfers::kFree ? shortest(shape) : shape;
  std::shared_ptr<const SolvedPipeline> own = solved({plan.schedule, shortened}, runtime);
  if (shortened == shape) {
    return {std::move(own), 0};
  }
  if (own->program.rounds() == 0) {
    return {solved({plan.schedule, shape}, runtime), 0};
  }
  const std::int64_t left_out =
      (shape.micro_batches - shortened.micro_batches) / directions(plan.schedule);
  const std::int64_t more = left_out / own->program.micro_batches_of_round();
  return {std::move(own), more};
}

}  // namespace stepcast
