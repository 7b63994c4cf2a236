// SPDX-License-Identifier: Apache-2.0
#include "stepcast/run/training_run.hpp"

namespace stepcast {
namespace {

constexpr Seconds kHour{3600.0};
constexpr Seconds kDay = 24.0 * kHour;
constexpr Joules kKilowattHour = Watts(1000.0) * kHour;

}  // namespace

double TrainingRun::days() const { return wall / kDay; }
double TrainingRun::gpu_hours() const { return static_cast<double>(gpus) * (wall / kHour); }
double TrainingRun::kilowatt_hours() const { return energy / kKilowattHour; }
double TrainingRun::gpu_kilowatt_hours() const { return gpu_energy / kKilowattHour; }
Joules TrainingRun::energy_per_token() const { return energy / static_cast<double>(spec.tokens); }

TrainingRun training_run(const RunSpec& spec, const TimedStep& step) {
  TrainingRun run;
  run.spec = spec;
  run.steps = (spec.tokens + step.tokens - 1) / step.tokens;
  run.gpus = step.gpus;
  run.goodput = goodput(spec.interruptions, step.gpus);
  run.wall = static_cast<double>(run.steps) * step.time / run.goodput.share;
  run.gpu_power = step.gpu_power;
  run.network_power = step.nodes > 1 ? spec.site.network : Watts{};
  const auto gpus = static_cast<double>(step.gpus);
  run.gpu_energy = gpus * (run.gpu_power * run.wall);
  const Watts a_gpu = run.gpu_power + spec.site.host + run.network_power;
  run.energy = spec.site.pue * gpus * (a_gpu * run.wall);
  return run;
}

}  // namespace stepcast
