// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/goodput.hpp"

#include <cmath>

namespace stepcast {
namespace {

// tau / E of the header; its limit where training is never interrupted by a write, so that nothing
// is lost but restarts.
double share_of_segment(Seconds interval, Seconds write, Seconds restart, Seconds mtbf) {
  const double restarts = std::exp(restart / mtbf);
  const Seconds segment = interval + write;
  if (segment == Seconds{}) {
    return 1.0 / restarts;
  }
  return interval / (mtbf * restarts * std::expm1(segment / mtbf));
}

}  // namespace

Seconds young_interval(Seconds write, Seconds mtbf) {
  return Seconds(std::sqrt(2.0 * write.value() * mtbf.value()));
}

Goodput goodput(const Interruptions& interruptions, std::int64_t gpus) {
  Goodput result;
  result.share = 1.0 - interruptions.stragglers;
  if (interruptions.mtbf_per_gpu) {
    result.mtbf = *interruptions.mtbf_per_gpu / static_cast<double>(gpus);
  }
  if (!interruptions.checkpoint) {
    return result;
  }
  const Seconds write = interruptions.checkpoint->write;
  result.interval = interruptions.checkpoint->interval;
  if (!result.mtbf) {
    const Seconds interval = *result.interval;  // there is one: plan/run_spec.cpp asks for it
    result.share *= interval / (interval + write);
    return result;
  }
  result.interval = result.interval.value_or(young_interval(write, *result.mtbf));
  result.share *= share_of_segment(*result.interval, write, interruptions.restart, *result.mtbf);
  return result;
}

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
