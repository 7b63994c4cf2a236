// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/comparison.hpp"

#include "stepcast/experiment/accuracy.hpp"

namespace stepcast {

std::vector<Projection> projections_of(const std::vector<Experiment>& experiments,
                                       const CostModel& cost,
                                       const std::vector<HeldOutRun>& known) {
  std::vector<Projection> projections;
  projections.reserve(experiments.size());
  for (const Experiment& experiment : experiments) {
    Projection& projection = projections.emplace_back(project(experiment, cost));
    projection.expected_error = expected_error(known, experiment);
  }
  return projections;
}

}  // namespace stepcast
