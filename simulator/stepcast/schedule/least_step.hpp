// SPDX-License-Identifier: Apache-2.0
// What a step takes at least at a clock: the pipeline run with the least times of its stages.
#pragma once

#include <vector>

#include "stepcast/schedule/solved_steps.hpp"

namespace stepcast {

// How the passes of a plan run.
PassMode pass_mode(const ExpansionContext& context);

struct LeastStep {
  Seconds step;
  Joules energy;  // of the computation of the rank with least, above idle
};

// The parts of a step that are known before its passes are solved.
struct StepLayout {
  const PlanOutline& outline;
  const std::vector<RankStage>& rank_stages;  // rank-major
  const PlanPipeline& pipeline;
  Seconds transfer;  // of a micro-batch from stage to stage, nothing beside it
  PassMode mode = PassMode::kOneByOne;
};

// At `context.clock`, whose prices are `prices`.
LeastStep least_step(const StepContext& context, const StepLayout& layout,
                     SolvedConfiguration::AtClock& prices, PipelineScratch& scratch);

}  // namespace stepcast
