// SPDX-License-Identifier: Apache-2.0
#include "stepcast/api/step_numbers.hpp"

#include "stepcast/base/each_of.hpp"
#include "stepcast/memory/memory_footprint.hpp"
#include "stepcast/report/projection_report.hpp"
#include "stepcast/report/step_rows.hpp"

namespace stepcast {
namespace {

// Time by the keys that reports in JSON have for it, in seconds.
std::vector<std::pair<std::string, double>> seconds_by_kind(const TimeBreakdown& time) {
  std::vector<std::pair<std::string, double>> rows;
  for_each_time_key(
      [&](const TimeRow& row) { rows.emplace_back(row.key, time_of_key(time, row.key).value()); });
  return rows;
}

// Of what has the same names in a projection and in a plan of a sweep, and of what has not.
template <typename Rates>
StepNumbers numbers_from(const Rates& of, Seconds step, Bytes peak_memory,
                         const TimeBreakdown& time) {
  return {of.tokens_per_second_per_gpu,
          step.value(),
          of.model_rate_per_gpu.value() / 1e12,
          of.mfu,
          peak_memory.value(),
          of.clock.value() / 1e6,
          of.power.value(),
          seconds_by_kind(time)};
}

StageBytes stage_bytes(const StageMemory& stage) {
  return {stage.rank,
          stage.parameters.value(),
          stage.gradients.value(),
          stage.optimizer.value(),
          stage.activations.value(),
          stage.buffers().value(),
          stage.total().value(),
          stage.reserved.value(),
          stage.outside.value()};
}

std::optional<RunNumbers> run_numbers_of(const Projection& p) {
  if (!p.run) {
    return std::nullopt;
  }
  RunNumbers numbers{p.run->spec.tokens,
                     p.run->steps,
                     p.run->days(),
                     std::nullopt,
                     p.run->gpu_hours(),
                     p.run->kilowatt_hours(),
                     p.run->energy_per_token().value(),
                     p.run->goodput.share};
  if (const std::optional<RateInterval> at80 = days_at_80(p)) {
    numbers.days_80 = {at80->low, at80->high};
  }
  return numbers;
}

}  // namespace

StepNumbers numbers_of(const Projection& p) {
  return numbers_from(p, p.time.step, p.peak_memory(), p.time.breakdown);
}

StepNumbers numbers_of(const PlanNumbers& plan) {
  return numbers_from(plan, plan.step, plan.peak_memory, plan.time);
}

StepProjection step_of(const Projection& projection) {
  StepProjection step{projection.feasible(),
                      projection.reasons,
                      projection.notes,
                      std::nullopt,
                      {},
                      projection.memory_capacity.value(),
                      projection.memory.empty() ? 0.0 : odds_on(projection.memory),
                      run_numbers_of(projection)};
  if (projection.priced) {
    step.numbers = numbers_of(projection);
    step.memory = each_of(projection.memory, stage_bytes);
  }
  return step;
}

}  // namespace stepcast
