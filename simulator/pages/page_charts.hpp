// SPDX-License-Identifier: Apache-2.0
// What the pages of single steps and of comparisons draw and their reports do not have, as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/result/comparison.hpp"
#include "stepcast/result/explanation.hpp"

namespace stepcast {

// The operators of a step for a roofline: what each computes and must move, and the peaks that
// bound them; null if the step has no price.
//
//   {"memory_bytes_per_s": 3.35e12, "clock_mhz": 1374.4,
//    "peaks": [{"dtype": "bf16", "flop_per_s": 7.6e14}],
//    "operators": [{"operator": 0, "flops": 3.6e12, "bytes": 1.0e9}, ...]}
//
// `operator` is the place in `operators` of `stepcast explain --format json`; those that compute
// nothing by matrix units or vectors, communication and copies, are left out.
nlohmann::ordered_json operator_chart(const Experiment& experiment, const Explanation& explanation);

inline constexpr std::int64_t kMostBlocks = 5000;

// What every pipeline rank runs in a step, pass by pass; null if the step has no price.
//
// Times are those of StepTimer::schedule at the projection's clock, brought to the projected step,
// which lies between two clocks of a grid and is up to 0.6 % off from it.
//
//   {"step_s": 20.1, "ranks": 8, "blocks": 1040, "parts": ["forward", "backward", "optimizer"],
//    "rows": [[rank, part, micro-batch, stage, start, end], ...]}    start and end in microseconds
//
// A pair of a forward and a backward has the micro-batch and the stage of its forward. An optimizer
// has neither: -1. `rows` is left out, and `trace` true, where there are more than kMostBlocks.
// `projection` is that of `experiment` with `cost`.
nlohmann::ordered_json pipeline_chart(const Experiment& experiment, const Projection& projection,
                                      const CostModel& cost);

// {"capacity_bytes": ..., of a GPU's memory
//  "pipeline": ...,     null where a step has no price
//  "roofline": ...,     likewise
//  "explanation": ...}  of a projection alone: operators, bound_by and sensitivities as explain has
//                       them
// `projection` and `explanation` are those of `experiment` with `cost`.
nlohmann::ordered_json projection_charts(const Experiment& experiment, const Projection& projection,
                                         const CostModel& cost);
nlohmann::ordered_json explanation_charts(const Experiment& experiment,
                                          const Explanation& explanation, const CostModel& cost);

// {"capacity_bytes": [...], "labels": [...]}, of each column.
nlohmann::ordered_json comparison_charts(const std::vector<ComparedColumn>& columns);

}  // namespace stepcast
