// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/projected_runs.hpp"

#include <tbb/parallel_for.h>

#include <exception>

#include "stepcast/experiment/project.hpp"

namespace stepcast {

std::vector<Projection> projections_of(const std::vector<const Experiment*>& experiments,
                                       const CostModel& cost) {
  std::vector<Projection> projections(experiments.size());
  std::vector<std::exception_ptr> faults(experiments.size());
  tbb::parallel_for(std::size_t{0}, experiments.size(), [&](std::size_t i) {
    if (experiments[i] == nullptr) {
      return;
    }
    try {
      projections[i] = project(*experiments[i], cost);
    } catch (...) {
      faults[i] = std::current_exception();
    }
  });
  for (const std::exception_ptr& fault : faults) {
    if (fault) {
      std::rethrow_exception(fault);
    }
  }
  return projections;
}

}  // namespace stepcast
