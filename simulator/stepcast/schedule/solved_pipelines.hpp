// SPDX-License-Identifier: Apache-2.0
// The pipelines of schedules and shapes, each worked out once: whatever runs in them, on whatever
// cluster.
//
// For any number of threads. What it has kept changes no number, only how soon it is there.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "stepcast/memory/peak_moments.hpp"
#include "stepcast/pipeline/pipeline_program.hpp"
#include "stepcast/schedule/paired_passes.hpp"

namespace stepcast {

// Two chunks of a rank that run side by side, one forward and one backward, and how often.
struct ChunkPair {
  std::int32_t forward = 0;
  std::int32_t backward = 0;
  std::int64_t times = 0;
  std::int64_t in_round = 0;  // how often in one round of the steady state
};

// A schedule of one shape. Shapes that differ only in how long their steady state is have one
// program.
struct SolvedPipeline {
  PipelineProgram program;
  std::vector<std::vector<ChunkPair>> pairs;  // by rank; empty lists where nothing is paired
};

// The pipeline of one plan.
struct PlanPipeline {
  std::shared_ptr<const SolvedPipeline> solved;
  std::int64_t more_rounds = 0;  // by which its steady state is longer than that of the program

  // How often a rank runs a pair that the program runs `times` times.
  [[nodiscard]] double times(const ChunkPair& pair) const {
    return static_cast<double>(pair.times + more_rounds * pair.in_round);
  }
};

// The moments of the ranks of a plan at which their memory may be at its peak.
struct KeptMoments {
  std::shared_ptr<const std::vector<PeakMoments>> moments;
  std::int64_t left_out = 0;  // micro-batches of each chunk that they leave out
};

class SolvedPipelines {
 public:
  // The pipeline of a plan, and its moments.
  PlanPipeline pipeline(const ParallelPlan& plan, const PipelineRuntime& runtime);
  KeptMoments moments(const ParallelPlan& plan);

 private:
  // A schedule and its shape.
  struct Shape {
    Schedule schedule = Schedule::kOneFOneB;
    PipelineShape shape;
    bool operator==(const Shape&) const = default;
  };
  struct ShapeHash {
    std::size_t operator()(const Shape& shape) const;
  };
  struct KeptProgram {
    PipelineRuntime runtime;
    std::shared_ptr<const SolvedPipeline> solved;
  };
  // What is kept of one schedule and shape, each worked out by the first who asks for it.
  struct KeptShape {
    std::mutex busy;
    std::shared_ptr<const std::vector<PeakMoments>> peak_moments;
    std::vector<KeptProgram> programs;
  };

  std::shared_ptr<KeptShape> kept(const Shape& shape);
  std::shared_ptr<const SolvedPipeline> solved(const Shape& shape, const PipelineRuntime& runtime);
  std::shared_ptr<const std::vector<PeakMoments>> peak_moments(const Shape& shape);

  std::mutex busy_;  // for what follows
  std::unordered_map<Shape, std::shared_ptr<KeptShape>, ShapeHash> shapes_;
  std::size_t tasks_kept_ = 0;
};

}  // namespace stepcast
