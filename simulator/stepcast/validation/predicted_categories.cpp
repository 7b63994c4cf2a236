// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/predicted_categories.hpp"

#include <algorithm>

#include "stepcast/cost/power_state.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/schedule/step_spans.hpp"

namespace stepcast {
namespace {

Projection at_clock(Experiment experiment, Hertz clock, const CostModel& cost) {
  experiment.locked_clock = clock;
  return project(experiment, cost);
}

// What the step's kernels draw above idle while they run.
Watts busy_power(const StepTime& time) {
  const TimeBreakdown& spent = time.breakdown;
  const Seconds busy = spent.compute + spent.contention + spent.optimizer;
  return busy > Seconds{} ? time.energy / busy : Watts{};
}

CategoryTimes device_times(const Experiment& experiment, const Projection& projection,
                           const CostModel& cost) {
  const ExpansionContext expansion{experiment.model, projection.plan, experiment.training,
                                   experiment.software};
  const StepContext step{expansion, experiment.cluster, cost, projection.clock};
  const StepSpans streams = step_spans(step, 0);
  CategoryTimes times{};
  for (const PassSpans& pass : streams.passes) {
    for (const StreamSpan& span : pass.spans) {
      if (span.op >= 0) {
        const Op& op = streams.ops[static_cast<std::size_t>(span.op)];
        times[static_cast<std::size_t>(category_of(op))] += pass.times * (span.end - span.start);
      }
    }
  }
  return times;
}

// Adds a share of what a step at one clock takes.
void add(PredictedStep& sum, double share, const Projection& projection,
         const CategoryTimes& times) {
  const TimeBreakdown& spent = projection.time.breakdown;
  sum.step += share * projection.time.step;
  sum.exposed_communication += share * spent.communication();
  sum.idle += share * (spent.bubble + spent.host);
  for (std::size_t i = 0; i < times.size(); ++i) {
    sum.device_time[i] += share * times[i];
  }
}

}  // namespace

BurstShare burst_after_pause(const Experiment& experiment, const CostModel& cost) {
  const DeviceSpec& device = experiment.cluster.device;
  const Watts allowed = device.kernels.power.burst_ratio * device.power.limit - device.power.idle;
  Projection burst;
  const Hertz clock = highest_clock(device, [&](Hertz guess) {
    burst = at_clock(experiment, guess, cost);
    return busy_power(burst.time) / allowed;
  });
  const Watts drawn = mean_power(device.power, {burst.time.step, burst.time.energy});
  if (drawn <= device.power.limit) {
    return {clock, 1.0};
  }
  const Seconds lasts = device.kernels.power.burst_energy / (drawn - device.power.limit);
  return {clock, std::min(1.0, lasts / burst.time.step)};
}

PredictedStep step_after_pause(const Experiment& experiment, const CostModel& cost) {
  PredictedStep result;
  const Projection steady = project(experiment, cost);
  result.priced = steady.priced;
  result.reasons = steady.reasons;
  if (!steady.priced) {
    return result;
  }
  const BurstShare burst = burst_after_pause(experiment, cost);
  const Projection first = at_clock(experiment, burst.clock, cost);
  add(result, burst.share, first, device_times(experiment, first, cost));
  add(result, 1.0 - burst.share, steady, device_times(experiment, steady, cost));
  return result;
}

}  // namespace stepcast
