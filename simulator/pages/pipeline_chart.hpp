// SPDX-License-Identifier: Apache-2.0
// What every pipeline rank runs in a step, pass by pass, for a chart of it.
//
// Times are those of StepTimer::schedule at the projection's clock, brought to the projected step,
// which lies between two clocks of a grid and is up to 0.6 % off from it. As JSON:
//
//   {"step_s": 20.1, "ranks": 8, "blocks": 1040, "parts": ["forward", "backward", "optimizer"],
//    "rows": [[rank, part, micro-batch, stage, start, end], ...]}    start and end in microseconds
//
// A pair of a forward and a backward has the micro-batch and the stage of its forward. An optimizer
// has neither: -1. `rows` is left out, and `trace` true, where there are more than kMostBlocks.
#pragma once

#include <nlohmann/json.hpp>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/result/projection.hpp"

namespace stepcast {

inline constexpr std::int64_t kMostBlocks = 5000;

// `projection` is that of `experiment` with `cost`; null if it has no price.
nlohmann::ordered_json pipeline_chart(const Experiment& experiment, const Projection& projection,
                                      const CostModel& cost);

}  // namespace stepcast
