// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/sensitivity.hpp"

#include "stepcast/experiment/project.hpp"
#include "stepcast/hardware/cluster_scale.hpp"

namespace stepcast {
namespace {

constexpr double kClockStep = 1.01;

double rate_at(const Experiment& experiment, Hertz clock, const CostModel& cost) {
  Experiment locked = experiment;
  locked.locked_clock = clock;
  return project(locked, cost).tokens_per_second_per_gpu;
}

Sensitivity of_clock(const Experiment& experiment, Hertz clock, const CostModel& cost) {
  const Hertz above = kClockStep * clock;
  const bool possible = above <= experiment.cluster.device.clock.peak;
  const Hertz from = possible ? clock : (1.0 / kClockStep) * clock;
  const Hertz to = possible ? above : clock;
  return {"clock", kClockStep, rate_at(experiment, from, cost), rate_at(experiment, to, cost), from,
          to,      false};
}

}  // namespace

std::vector<Sensitivity> sensitivities(const Experiment& experiment, const Projection& base,
                                       const CostModel& cost) {
  std::vector<Sensitivity> result;
  if (!base.priced) {
    return result;
  }
  for (const ScaleFactor& resource : kScaleFactors) {
    ClusterScale scale;
    scale.*resource.factor = kClockStep;
    Experiment more = experiment;
    more.cluster = scaled(std::move(more.cluster), scale);
    result.push_back({.resource = resource.name,
                      .factor = kClockStep,
                      .from = base.tokens_per_second_per_gpu,
                      .to = project(more, cost).tokens_per_second_per_gpu,
                      .of_time = resource.of_time});
  }
  result.push_back(of_clock(experiment, base.clock, cost));
  return result;
}

}  // namespace stepcast
