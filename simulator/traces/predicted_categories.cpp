// SPDX-License-Identifier: Apache-2.0
#include "traces/predicted_categories.hpp"

#include <algorithm>
#include <cmath>

#include "stepcast/cost/power_level.hpp"
#include "stepcast/cost/power_state.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/schedule/step_clock.hpp"
#include "stepcast/schedule/step_spans.hpp"

namespace stepcast {
namespace {

// The step at a declared level of power (cost/power_level.hpp).
StepAtClock at_level(const Experiment& experiment, const Projection& steady, Hertz clock,
                     const CostModel& paced) {
  const ExpansionContext expansion{experiment.model, steady.plan, experiment.training,
                                   experiment.software};
  return step_at_locked_clock({expansion, experiment.cluster, paced, clock});
}

CategoryTimes device_times(const Experiment& experiment, const Projection& projection, Hertz clock,
                           const CostModel& paced) {
  const ExpansionContext expansion{experiment.model, projection.plan, experiment.training,
                                   experiment.software};
  const StepContext step{expansion, experiment.cluster, paced, clock};
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
void add(PredictedStep& sum, double share, const StepTime& time, const CategoryTimes& times) {
  const TimeBreakdown& spent = time.breakdown;
  sum.step += share * time.step;
  sum.exposed_communication += share * spent.communication();
  sum.idle += share * (spent.bubble + spent.host);
  for (std::size_t i = 0; i < times.size(); ++i) {
    sum.device_time[i] += share * times[i];
  }
}

// What the step's kernels draw above idle while they run.
Watts busy_power(const StepTime& time) {
  const Seconds busy = time.breakdown.busy();
  return busy > Seconds{} ? time.energy / busy : Watts{};
}

// The step as fast as bursts may be. Where each kernel has a clock of its own none draws more.
StepAtClock in_bursts(const Experiment& experiment, const Projection& steady,
                      const CostModel& paced) {
  const DeviceSpec& device = experiment.cluster.device;
  const Watts allowed = burst_allowance(device);
  StepAtClock burst;
  highest_clock(device, [&](Hertz guess) {
    burst = at_level(experiment, steady, guess, paced);
    return busy_power(burst.time) / allowed;
  });
  return burst;
}

// The share of a step until the average power, which starts at idle, is at the limit.
double share_in_burst(const DeviceSpec& device, const StepAtClock& burst) {
  const PowerSpec& power = device.power;
  if (burst.power <= power.limit) {
    return 1.0;
  }
  const Seconds constant = device.kernels.power.burst_energy / (power.limit - power.idle);
  const Seconds lasts =
      std::log((burst.power - power.idle) / (burst.power - power.limit)) * constant;
  return std::min(1.0, lasts / burst.time.step);
}

}  // namespace

BurstShare burst_after_pause(const Experiment& experiment, const CostModel& cost) {
  const Projection steady = project(experiment, cost);
  const StepAtClock burst = in_bursts(experiment, steady, within_level(cost));
  return {burst.clock, share_in_burst(experiment.cluster.device, burst)};
}

PredictedStep step_after_pause(const Experiment& experiment, const CostModel& cost) {
  PredictedStep result;
  const Projection steady = project(experiment, cost);
  result.priced = steady.priced;
  result.reasons = steady.reasons;
  if (!steady.priced) {
    return result;
  }
  const CostModel paced = within_level(cost);
  const StepAtClock burst = in_bursts(experiment, steady, paced);
  const double share = share_in_burst(experiment.cluster.device, burst);
  add(result, share, burst.time, device_times(experiment, steady, burst.clock, paced));
  add(result, 1.0 - share, steady.time, device_times(experiment, steady, steady.clock, paced));
  return result;
}

}  // namespace stepcast
