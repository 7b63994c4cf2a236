// SPDX-License-Identifier: Apache-2.0
// The share of a run's wall time that is training, in closed form.
//
// Failures of the job come at random with a mean time M = mtbf_per_gpu / GPUs between two of them.
// Each loses what was trained since the last checkpoint, and a restart R. A segment is tau of
// training and a checkpoint's write C; it takes on average (J. T. Daly, A higher order estimate of
// the optimum checkpoint interval for restart dumps, FGCS 22, 2006)
//
//   E = M * e^(R/M) * (e^((tau + C)/M) - 1)        tau + C without failures
//   goodput = (1 - stragglers) * tau / E
//
// The interval where none is given is J. W. Young's (A first order approximation to the optimum
// checkpoint interval, CACM 17, 1974): tau = sqrt(2 * C * M). It is within a percent of the best
// goodput where C is below M/20, and never above it.
//
// Assumed: failures are independent, also while a checkpoint is written and during a restart, and
// are noticed at once; a spare takes the place of what failed. Wrong where failures come in swarms
// or the job must wait for repairs.
#pragma once

#include <cstdint>

#include "stepcast/result/training_run.hpp"

namespace stepcast {

// sqrt(2 * write * mtbf).
Seconds young_interval(Seconds write, Seconds mtbf);

Goodput goodput(const Interruptions& interruptions, std::int64_t gpus);

// The step that a run repeats.
struct TimedStep {
  Seconds time;
  std::int64_t tokens = 0;  // over all GPUs
  std::int64_t gpus = 0;
  std::int64_t nodes = 0;
  Watts gpu_power;  // mean, of one GPU
};

// What a run of many equal steps takes: days, GPU-hours, energy.
//
//   steps  = ceil(tokens / tokens of a step)
//   wall   = steps * time of a step / goodput
//   energy = wall * GPUs * (power of a GPU + host + network) * pue
//
// At 1,000 tokens/s/GPU, 15e12 tokens on 512 GPUs take 15e12 / 512,000 s = 339.1 days without
// interruptions, 4.17 million GPU-hours.
//
// Assumed: the step is the same from the first to the last (no warm-up of the batch, no longer
// sequences at the end, no evaluations), and all that stands still draws what it draws in a step.
TrainingRun training_run(const RunSpec& spec, const TimedStep& step);

}  // namespace stepcast
