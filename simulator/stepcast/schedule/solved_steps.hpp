// SPDX-License-Identifier: Apache-2.0
// What steps of one model, software, cluster and cost model have in common, solved once and kept
// from plan to plan: the stages of each layer configuration, and the pipelines around them.
//
// For one thread. What it has kept changes no number, only how soon it is there.
#pragma once

#include <list>
#include <optional>
#include <unordered_map>
#include <vector>

#include "stepcast/memory/memory_footprint.hpp"
#include "stepcast/pipeline/layer_configuration.hpp"
#include "stepcast/pipeline/pipeline_program.hpp"
#include "stepcast/schedule/paired_passes.hpp"
#include "stepcast/schedule/solved_configuration.hpp"

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
  const SolvedPipeline* solved = nullptr;
  std::int64_t more_rounds = 0;  // by which its steady state is longer than that of the program

  // How often a rank runs a pair that the program runs `times` times.
  [[nodiscard]] double times(const ChunkPair& pair) const {
    return static_cast<double>(pair.times + more_rounds * pair.in_round);
  }
};

// Where the parts of a plan are among what SolvedSteps keeps.
struct PlanOutline {
  SolvedConfiguration* configuration = nullptr;
  StageClasses classes;
  std::vector<std::size_t> solved;  // of each class: its number in the configuration

  // The number in the configuration of the class of stage `index`.
  [[nodiscard]] std::size_t stage(std::size_t index) const {
    return solved[classes.of_stage[index]];
  }
};

class SolvedSteps {
 public:
  // Good until the next call.
  PlanOutline outline(const ExpansionContext& context);

  // As memory_by_stage of the plan that `outline` is of; no further than to the first rank that
  // needs more than `limit`.
  std::vector<StageMemory> memory(const PlanOutline& outline, const ExpansionContext& context,
                                  std::optional<Bytes> limit = std::nullopt);

  // The pipeline of a plan whose ranks run their passes in `order`. Good until the next call of
  // outline.
  PlanPipeline pipeline(const ParallelPlan& plan, PassOrder order);

  PipelineScratch& scratch() { return scratch_; }

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
  struct ConfigurationHash {
    std::size_t operator()(const LayerConfiguration& configuration) const {
      return hash_of(configuration);
    }
  };
  // What is kept of one schedule and shape, each worked out when it is first asked for.
  struct KeptShape {
    std::optional<std::vector<PeakMoments>> peak_moments;
    std::optional<SolvedPipeline> one_by_one;
    std::optional<SolvedPipeline> paired;
  };

  void forget_if_many();
  const SolvedPipeline& solved(const Shape& shape, PassOrder order);
  const std::vector<PeakMoments>& peak_moments(const Shape& shape);

  std::unordered_map<LayerConfiguration, SolvedConfiguration, ConfigurationHash> configurations_;
  std::unordered_map<Shape, KeptShape, ShapeHash> shapes_;
  std::size_t tasks_kept_ = 0;
  PipelineScratch scratch_;
};

}  // namespace stepcast
