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
#include <optional>

#include "stepcast/plan/run_spec.hpp"

namespace stepcast {

struct Goodput {
  double share = 1.0;               // of the wall time; from 0 to 1
  std::optional<Seconds> mtbf;      // of the job
  std::optional<Seconds> interval;  // of training between two checkpoints
};

// sqrt(2 * write * mtbf).
Seconds young_interval(Seconds write, Seconds mtbf);

Goodput goodput(const Interruptions& interruptions, std::int64_t gpus);

}  // namespace stepcast
