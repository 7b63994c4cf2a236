// SPDX-License-Identifier: Apache-2.0
#include "pages/page_charts.hpp"

#include "pages/operator_chart.hpp"
#include "pages/pipeline_chart.hpp"
#include "stepcast/experiment/explain.hpp"
#include "stepcast/report/operator_report.hpp"

namespace stepcast {

nlohmann::ordered_json projection_charts(const Experiment& experiment, const Projection& projection,
                                         const CostModel& cost) {
  if (!projection.priced) {
    return nullptr;
  }
  const Explanation explanation = explain(experiment, cost);
  const nlohmann::ordered_json whole = to_json(explanation, Detail::kDuration);
  nlohmann::ordered_json charts = explanation_charts(experiment, explanation, cost);
  for (const char* key : {"bound_by", "sensitivities", "operators"}) {
    charts["explanation"][key] = whole.at(key);
  }
  return charts;
}

nlohmann::ordered_json explanation_charts(const Experiment& experiment,
                                          const Explanation& explanation, const CostModel& cost) {
  if (!explanation.projection.priced) {
    return nullptr;
  }
  return {{"capacity_bytes", explanation.projection.memory_capacity.value()},
          {"pipeline", pipeline_chart(experiment, explanation.projection, cost)},
          {"roofline", operator_chart(experiment, explanation)}};
}

nlohmann::ordered_json comparison_charts(const std::vector<ComparedColumn>& columns) {
  nlohmann::ordered_json capacities = nlohmann::ordered_json::array();
  for (const ComparedColumn& column : columns) {
    capacities.push_back(column.projection.memory_capacity.value());
  }
  return {{"capacity_bytes", std::move(capacities)}};
}

}  // namespace stepcast
