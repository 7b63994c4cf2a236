// SPDX-License-Identifier: Apache-2.0
// What the pages of single steps draw and their reports do not have:
//
//   {"capacity_bytes": ..., of a GPU's memory
//    "pipeline": ...,     pipeline_chart.hpp; null where a step has no price
//    "roofline": ...,     operator_chart.hpp, likewise
//    "explanation": ...}  of a projection alone: operators, bound_by and sensitivities as explain
//                         has them
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/result/comparison.hpp"
#include "stepcast/result/explanation.hpp"

namespace stepcast {

// `projection` and `explanation` are those of `experiment` with `cost`.
nlohmann::ordered_json projection_charts(const Experiment& experiment, const Projection& projection,
                                         const CostModel& cost);
nlohmann::ordered_json explanation_charts(const Experiment& experiment,
                                          const Explanation& explanation, const CostModel& cost);

// {"capacity_bytes": [...]}, of each column.
nlohmann::ordered_json comparison_charts(const std::vector<ComparedColumn>& columns);

}  // namespace stepcast
