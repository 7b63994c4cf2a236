// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/nearest_fit.hpp"

#include "stepcast/experiment/plan_climb.hpp"
#include "stepcast/settle/settle_plan.hpp"

namespace stepcast {
namespace {

constexpr std::int64_t kMostNear = 2'000;    // plans near the plan
constexpr std::int64_t kMostTried = 20'000;  // plans on more GPUs
constexpr std::int64_t kMostNodes = 16'384;  // that more GPUs are looked for on

// A plan that runs on so many nodes, near that of `experiment`.
std::optional<RunningPlan> running_on(Experiment experiment, const CostModel& cost,
                                      std::int64_t nodes, std::int64_t& tried) {
  experiment.cluster.nodes = nodes;
  PlanTrials trials(experiment, cost);
  const ResolvedPlan asked = settle_plan(experiment.plan, experiment.model, experiment.training,
                                         experiment.cluster, experiment.software);
  std::optional<RunningPlan> found =
      first_that_runs(trials, {unchanged_plan(experiment, asked.plan)}, kMostNear);
  tried += trials.tried();
  return found;
}

// The fewest GPUs of whole nodes with a plan that runs: twice as many each time, then halved down.
std::optional<std::int64_t> fewest_gpus(const Experiment& experiment, const CostModel& cost,
                                        std::int64_t& tried) {
  std::int64_t too_few = experiment.cluster.nodes;
  std::int64_t enough = 2 * too_few;
  while (!running_on(experiment, cost, enough, tried)) {
    too_few = enough;
    enough *= 2;
    if (enough > kMostNodes || tried > kMostTried) {
      return std::nullopt;
    }
  }
  while (enough - too_few > 1) {
    const std::int64_t middle = too_few + (enough - too_few) / 2;
    (running_on(experiment, cost, middle, tried) ? enough : too_few) = middle;
  }
  return enough * experiment.cluster.gpus_per_node;
}

}  // namespace

std::optional<FittingPlan> nearest_fit(const Projection& projection, const Experiment& experiment,
                                       const CostModel& cost) {
  if (!projection.priced || !projection.keeps_power_limit || is_sure(projection.memory)) {
    return std::nullopt;
  }
  FittingPlan nearest;
  if (const std::optional<RunningPlan> found =
          running_on(experiment, cost, experiment.cluster.nodes, nearest.tried)) {
    nearest.changes = found->change.settings;
    nearest.tokens_per_second_per_gpu = found->tokens_per_second_per_gpu;
    nearest.peak_memory = found->peak_memory;
  } else {
    nearest.gpus = fewest_gpus(experiment, cost, nearest.tried);
  }
  return nearest;
}

}  // namespace stepcast
